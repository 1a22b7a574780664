// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/commands/commands.h"

#include <cstdio>

#include "core/status/try.h"

namespace voxloc::cli {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    default:
      return ExitCode::kFailed;
  }
}

absl::StatusOr<ExitCode> Report(const std::string& json_destination, const std::string& text,
                                const Json& json, ExitCode code) {
  if (json_destination != "-") std::fputs(text.c_str(), stdout);
  VOXLOC_TRY(WriteJson(json_destination, json));
  return code;
}

}  // namespace voxloc::cli
