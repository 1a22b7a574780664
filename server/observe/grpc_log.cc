// SPDX-License-Identifier: Apache-2.0

#include "server/observe/grpc_log.h"

#include <grpc/support/log.h>

#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

void Write(gpr_log_func_args* args) {
  // gRPC logs as errors what its caller can often correct.
  const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kWarn
                         : args->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  // A client can provoke many, such as failed handshakes.
  LogLimited(level, "grpc", {{"message", args->message}});
}

}  // namespace

void SendGrpcLogToOurs() { gpr_set_log_function(Write); }

}  // namespace voxloc::server
