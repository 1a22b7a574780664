// SPDX-License-Identifier: Apache-2.0
//
// Where results go: files, which flags name, and standard output; as text and as JSON. Numbers that
// are not finite become null in JSON.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_OUTPUT_FILE_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_OUTPUT_FILE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/geometry/pose.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

// The error names the file and the system's reason.
[[nodiscard]] absl::Status WriteTextFile(const std::string& path, absl::string_view text);

// Whether WriteTextFile may work later: before work whose result it is to write. Creates and
// changes nothing. The error names the file and the system's reason.
[[nodiscard]] absl::Status CheckWritable(const std::string& path);

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

// To the file, to standard output for "-", nowhere for "".
[[nodiscard]] absl::Status WriteJson(const std::string& destination, const Json& value);

// [x, y, z].
[[nodiscard]] Json VectorJson(const Eigen::Vector3d& vector);

// [x, y, z, qx, qy, qz, qw], metres and a unit quaternion.
[[nodiscard]] Json PoseJson(const Pose& pose);

// `path` may be "" for nothing and "-" for standard output where the command takes that.
CLI::Option* AddOutputFile(CLI::App* command, const std::string& name, std::string* path,
                           const std::string& help);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_OUTPUT_FILE_H_
