// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/set_log_level.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

std::optional<LogLevel> LevelFromProto(v1::LogLevel level) {
  switch (level) {
    case v1::LOG_LEVEL_TRACE:
      return LogLevel::kTrace;
    case v1::LOG_LEVEL_DEBUG:
      return LogLevel::kDebug;
    case v1::LOG_LEVEL_INFO:
      return LogLevel::kInfo;
    case v1::LOG_LEVEL_WARN:
      return LogLevel::kWarn;
    case v1::LOG_LEVEL_ERROR:
      return LogLevel::kError;
    default:
      return std::nullopt;
  }
}

v1::LogLevel LevelToProto(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return v1::LOG_LEVEL_TRACE;
    case LogLevel::kDebug:
      return v1::LOG_LEVEL_DEBUG;
    case LogLevel::kInfo:
      return v1::LOG_LEVEL_INFO;
    case LogLevel::kWarn:
      return v1::LOG_LEVEL_WARN;
    case LogLevel::kError:
      return v1::LOG_LEVEL_ERROR;
  }
  return v1::LOG_LEVEL_UNSPECIFIED;
}

}  // namespace

absl::Status SetLogLevel(const Runtime& /*runtime*/, const v1::SetLogLevelRequest& request,
                         v1::SetLogLevelResponse& response) {
  const std::optional<LogLevel> level = LevelFromProto(request.level());
  if (!level.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "level must be from 1 (trace) to 5 (error) (got ", static_cast<int>(request.level()), ")"));
  }
  response.set_previous_level(LevelToProto(SetLogLevel(*level)));
  Log(LogLevel::kInfo, "log_level_set", {{"level", ToString(*level)}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
