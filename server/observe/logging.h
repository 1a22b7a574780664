// SPDX-License-Identifier: Apache-2.0
//
// The log: one line per event, key=value, to standard error.
//
//   2026-01-31T12:00:00.123Z level=info event=session_opened session=s-7 map=town
//
// Lines are written by a separate thread, so that no caller waits for a slow reader; when its queue
// is full, the oldest lines are dropped. Values with spaces, quotes or control characters are
// quoted and escaped, so that a client's text cannot forge a line. Lines about a call or a scan
// with a trace have its trace_id. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_LOGGING_H_
#define VOXLOC_SERVER_OBSERVE_LOGGING_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/trace/trace_context.h"

namespace voxloc::server {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };

[[nodiscard]] absl::string_view ToString(LogLevel level);

// By name, as ToString gives it; kInfo for others, which the configuration has refused before.
[[nodiscard]] LogLevel LogLevelOf(absl::string_view name);

// Returns the level before. Until the first call it is kInfo.
LogLevel SetLogLevel(LogLevel level);
[[nodiscard]] bool LogEnabled(LogLevel level);

struct LogField {
  template <typename Value>
  LogField(absl::string_view field_key, const Value& field_value)
      : key(field_key), value(absl::StrCat(field_value)) {}

  absl::string_view key;
  std::string value;
};

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields);

// The same for events that clients or faults can repeat without end: beyond a burst, lines are left
// out, and the next one has their number as left_out (LogLimiter).
void LogRateLimited(LogLevel level, absl::string_view event,
                    std::initializer_list<LogField> fields);

// Logs a line of FormatLogLine, whatever the log level, at the rate of `kind` in place of an event.
void LogLineRateLimited(absl::string_view kind, std::string line);

// As LogRateLimited, one line a second: for events that strangers can cause.
void LogOncePerSecond(LogLevel level, absl::string_view event,
                      std::initializer_list<LogField> fields);

// Lines that these three have suppressed, of all events.
[[nodiscard]] uint64_t SuppressedLogLines();

// While it lives, lines of its thread have this trace's trace_id, unless the trace is not valid.
// The scopes of a thread are nested.
class ScopedLogTrace {
 public:
  explicit ScopedLogTrace(const TraceContext& trace);
  ScopedLogTrace(const ScopedLogTrace&) = delete;
  ScopedLogTrace& operator=(const ScopedLogTrace&) = delete;
  ~ScopedLogTrace();

 private:
  const TraceId before_;
};

// The line without its time, as Log writes it in this thread.
[[nodiscard]] std::string FormatLogLine(LogLevel level, absl::string_view event,
                                        std::initializer_list<LogField> fields);

// Redirects gRPC's own log to the server's, for the whole process, before gRPC is first used.
void RedirectGrpcLog();

// The reason of a failed TLS handshake in a line of gRPC's log. Empty: the line is about something
// else.
[[nodiscard]] absl::string_view ParseTlsFailure(absl::string_view line);

// LogLimiter: a token bucket per log event, for events that clients or faults can repeat without
// end: a burst of lines, then a rate. The first line after a suppression reports the number of
// suppressed lines. Thread-safe.
class LogLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // Enough for the reconnects of a fleet of the default max_sessions, and an eighth of the queue
    // of the log's thread.
    double burst = 1024.0;
    double per_second = 20.0;  // lines that a person can follow
  };

  explicit LogLimiter(const Options& options) : options_(options) {}

  // Lines of the event suppressed since its last one; nullopt: suppress this one too. Events are
  // constants in the code, so there are few.
  [[nodiscard]] std::optional<uint64_t> Admit(absl::string_view event, Clock::time_point now) {
    return Admit(event, now, options_);
  }
  // For an event with a burst and a rate of its own, the same every time.
  [[nodiscard]] std::optional<uint64_t> Admit(absl::string_view event, Clock::time_point now,
                                              const Options& options);

  // Lines of all events.
  [[nodiscard]] uint64_t suppressed() const;

 private:
  struct Event {
    double tokens = 0.0;
    Clock::time_point at;
    uint64_t suppressed = 0;
  };

  const Options options_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Event, std::less<>> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_LOGGING_H_
