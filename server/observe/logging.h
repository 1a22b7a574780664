// SPDX-License-Identifier: Apache-2.0
//
// The log: one line per event, key=value, to standard error.
//
//   2026-01-31T12:00:00.123Z level=info event=session_opened session=s-7 map=town
//
// Lines are handed to a thread of their own, so that no caller waits for a slow reader; when it
// falls far behind, the oldest lines are lost. Values with spaces, quotes or control characters are
// quoted and escaped: what a client names cannot forge a line. Lines about a call or a scan that
// belongs to a trace have its trace_id. Thread-safe.

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
void LogLimited(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields);

// A line that FormatLogLine has made, at that rate, whatever the level that is logged. `kind`: what
// has the rate, in place of an event.
void LogLineLimited(absl::string_view kind, std::string line);

// As LogLimited, one line a second: for events that strangers can cause.
void LogOnceASecond(LogLevel level, absl::string_view event,
                    std::initializer_list<LogField> fields);

// Lines that these three have left out, of all events.
[[nodiscard]] uint64_t LogLinesLeftOut();

// While it lives, lines of its thread have this trace's trace_id, unless the trace is not valid.
// The scopes of a thread are nested.
class LogTrace {
 public:
  explicit LogTrace(const TraceContext& trace);
  LogTrace(const LogTrace&) = delete;
  LogTrace& operator=(const LogTrace&) = delete;
  ~LogTrace();

 private:
  const TraceId before_;
};

// The line without its time, as Log writes it in this thread.
[[nodiscard]] std::string FormatLogLine(LogLevel level, absl::string_view event,
                                        std::initializer_list<LogField> fields);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_LOGGING_H_
