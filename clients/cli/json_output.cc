// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/json_output.h"

#include <cstdio>

#include "clients/cli/text_file.h"

namespace voxloc::cli {

absl::Status WriteJson(const std::string& destination, const Json& value) {
  if (destination.empty()) return absl::OkStatus();
  // Text that is not UTF-8, such as a file's name, is replaced and does not throw.
  const std::string text =
      value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (destination == "-") {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      return absl::InternalError("standard output cannot be written");
    }
    return absl::OkStatus();
  }
  return WriteTextFile(destination, text);
}

Json PoseJson(const Pose& pose) {
  return Json::array({pose.translation.x(), pose.translation.y(), pose.translation.z(),
                      pose.rotation.x(), pose.rotation.y(), pose.rotation.z(), pose.rotation.w()});
}

}  // namespace voxloc::cli
