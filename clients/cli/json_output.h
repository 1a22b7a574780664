// SPDX-License-Identifier: Apache-2.0
//
// Results as JSON. Numbers that are not finite become null.

#ifndef VOXLOC_CLIENTS_CLI_JSON_OUTPUT_H_
#define VOXLOC_CLIENTS_CLI_JSON_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

// To the file, to standard output for "-", nowhere for "".
[[nodiscard]] absl::Status WriteJson(const std::string& destination, const Json& value);

// [x, y, z, qx, qy, qz, qw], metres and a unit quaternion.
[[nodiscard]] Json PoseJson(const Pose& pose);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_JSON_OUTPUT_H_
