// SPDX-License-Identifier: Apache-2.0

#include "server/observe/logging.h"

#include <grpc/support/log.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

constexpr size_t kQueuedLines = 8192;

std::atomic<LogLevel> current_level{LogLevel::kInfo};

thread_local TraceId current_trace{};  // all zero: none

LogLimiter& Limiter() {
  static auto* const limiter = new LogLimiter(LogLimiter::Options());
  return *limiter;
}

spdlog::async_logger& Logger() {
  // Destroyed at exit, which waits until all lines are written.
  static const auto pool = std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1);
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::async_logger>(
        "voxloc", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool,
        spdlog::async_overflow_policy::overrun_oldest);
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return *logger;
}

void Write(const std::string& line) {
  Logger().log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

// Writes the line that `make_line` returns, unless there were too many of its kind.
template <typename MakeLine>
void WriteAtRate(const LogLimiter::Options& rate, absl::string_view kind,
                 const MakeLine& make_line) {
  const std::optional<uint64_t> suppressed = Limiter().Admit(kind, LogLimiter::Clock::now(), rate);
  if (!suppressed.has_value()) return;
  std::string line = make_line();
  if (*suppressed > 0) absl::StrAppend(&line, " left_out=", *suppressed);
  Write(line);
}

bool NeedsQuotes(absl::string_view value) {
  return value.empty() || std::any_of(value.begin(), value.end(), [](char c) {
           return c <= ' ' || c == '"' || c == '=' || c == '\\' || c == '\x7f';
         });
}

constexpr absl::string_view kLevelNames[] = {"trace", "debug", "info", "warn", "error"};

}  // namespace

absl::string_view ToString(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

LogLevel LogLevelOf(absl::string_view name) {
  const auto* const found = std::find(std::begin(kLevelNames), std::end(kLevelNames), name);
  return found == std::end(kLevelNames) ? LogLevel::kInfo
                                        : static_cast<LogLevel>(found - kLevelNames);
}

LogLevel SetLogLevel(LogLevel level) { return current_level.exchange(level); }

bool LogEnabled(LogLevel level) { return level >= current_level.load(std::memory_order_relaxed); }

std::string FormatLogLine(LogLevel level, absl::string_view event,
                          std::initializer_list<LogField> fields) {
  std::string line = absl::StrCat("level=", ToString(level), " event=", event);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    if (NeedsQuotes(field.value)) {
      absl::StrAppend(&line, "\"", absl::CEscape(field.value), "\"");
    } else {
      absl::StrAppend(&line, absl::CEscape(field.value));
    }
  }
  if (current_trace != TraceId{}) absl::StrAppend(&line, " trace_id=", TraceIdHex(current_trace));
  return line;
}

ScopedLogTrace::ScopedLogTrace(const TraceContext& trace)
    : before_(std::exchange(current_trace, trace.trace_id)) {}

ScopedLogTrace::~ScopedLogTrace() { current_trace = before_; }

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  Write(FormatLogLine(level, event, fields));
}

void LogRateLimited(LogLevel level, absl::string_view event,
                    std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  WriteAtRate({}, event, [&] { return FormatLogLine(level, event, fields); });
}

void LogLineRateLimited(absl::string_view kind, std::string line) {
  WriteAtRate({}, kind, [&line] { return std::move(line); });
}

void LogOncePerSecond(LogLevel level, absl::string_view event,
                      std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  WriteAtRate({/*burst=*/1.0, /*per_second=*/1.0}, event,
              [&] { return FormatLogLine(level, event, fields); });
}

uint64_t SuppressedLogLines() { return Limiter().suppressed(); }

absl::string_view ParseTlsFailure(absl::string_view line) {
  // As OpenSSL has them, whose alerts are what the client says.
  constexpr std::pair<absl::string_view, absl::string_view> kReasons[] = {
      {"wrong version number", "the client does not speak TLS"},
      {"http request", "the client does not speak TLS"},
      {"peer did not return a certificate",
       "the client has no certificate, and tls.client_ca asks for one"},
      {"certificate verify failed",
       "the client's certificate is not of an authority in tls.client_ca, or is not valid"},
      {"alert unknown ca", "the client does not know the authority of tls.certificate"},
      {"alert bad certificate", "the client refuses tls.certificate, such as for its name"},
      {"alert certificate unknown", "the client refuses tls.certificate, such as for its name"},
      {"alert certificate expired", "tls.certificate has expired, the client says"},
      {"unsupported protocol", "the client speaks only versions of TLS that are too old"},
  };
  if (!absl::StrContains(line, "andshake failed")) return "";
  for (const auto& [words, reason] : kReasons) {
    if (absl::StrContains(line, words)) return reason;
  }
  return "the handshake failed";
}

void RedirectGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    // A client can provoke many.
    if (const absl::string_view why = ParseTlsFailure(args->message); !why.empty()) {
      LogRateLimited(LogLevel::kWarn, "tls_handshake_failed",
                     {{"reason", why}, {"message", args->message}});
      return;
    }
    // gRPC logs as errors what its caller can often correct.
    const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kWarn
                           : args->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                     : LogLevel::kDebug;
    LogRateLimited(level, "grpc", {{"message", args->message}});
  });
}

std::optional<uint64_t> LogLimiter::Admit(absl::string_view event, Clock::time_point now,
                                          const Options& options) {
  const absl::MutexLock lock(&mutex_);
  auto found = events_.find(event);
  if (found == events_.end()) {
    found = events_.emplace(std::string(event), Event{options.burst, now, 0}).first;
  }
  Event& state = found->second;
  const double passed_s = ToSeconds(now - state.at);
  state.tokens =
      std::min(options.burst, state.tokens + options.per_second * std::max(0.0, passed_s));
  state.at = std::max(state.at, now);
  if (state.tokens < 1.0) {
    ++state.suppressed;
    ++suppressed_;
    return std::nullopt;
  }
  state.tokens -= 1.0;
  return std::exchange(state.suppressed, 0);
}

uint64_t LogLimiter::suppressed() const {
  const absl::MutexLock lock(&mutex_);
  return suppressed_;
}

}  // namespace voxloc::server
