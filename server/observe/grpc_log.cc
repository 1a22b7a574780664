// SPDX-License-Identifier: Apache-2.0

#include "server/observe/grpc_log.h"

#include <grpc/support/log.h>

#include <utility>

#include "absl/strings/match.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

void Write(gpr_log_func_args* args) {
  // gRPC logs as errors what its caller can often correct.
  const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kWarn
                         : args->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  // A client can provoke many.
  if (const absl::string_view why = ParseTlsFailure(args->message); !why.empty()) {
    LogRateLimited(LogLevel::kWarn, "tls_handshake_failed",
                   {{"reason", why}, {"message", args->message}});
    return;
  }
  LogRateLimited(level, "grpc", {{"message", args->message}});
}

}  // namespace

absl::string_view ParseTlsFailure(absl::string_view line) {
  // As OpenSSL has them, whose alerts are what the client says.
  constexpr std::pair<absl::string_view, absl::string_view> kReasons[] = {
      {"wrong version number", "the client does not speak TLS"},
      {"http request", "the client does not speak TLS"},
      {"peer did not return a certificate",
       "the client has no certificate, and tls.client_ca asks "
       "for one"},
      {"certificate verify failed",
       "the client's certificate is not of an authority in "
       "tls.client_ca, or is not valid"},
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

void RedirectGrpcLog() { gpr_set_log_function(Write); }

}  // namespace voxloc::server
