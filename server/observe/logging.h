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

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

// At level info, whatever the level that is logged.
void LogAlways(absl::string_view event, std::initializer_list<LogField> fields);
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

// Redirects gRPC's own log to the server's log.

// For the whole process, before gRPC is first used.
void RedirectGrpcLog();

// The reason of a failed TLS handshake in a line of gRPC's log. Empty: the line is about something
// else.
[[nodiscard]] absl::string_view ParseTlsFailure(absl::string_view line);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_LOGGING_H_
