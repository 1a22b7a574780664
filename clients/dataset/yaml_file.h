// SPDX-License-Identifier: Apache-2.0
//
// YAML files: reading one with errors that name the file and, where YAML knows it, the line. Pure
// functions.

#ifndef VOXLOC_CLIENTS_DATASET_YAML_FILE_H_
#define VOXLOC_CLIENTS_DATASET_YAML_FILE_H_

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// Calls `interpret` with the file's document and returns what it returns. What yaml-cpp throws
// meanwhile becomes an error. InvalidArgument: not YAML; otherwise as ReadFileBytes.
[[nodiscard]] absl::Status ReadYamlFile(
    const std::string& path, absl::FunctionRef<absl::Status(const YAML::Node&)> interpret);

// A finite number, in any locale of the process. nullopt: not one.
[[nodiscard]] std::optional<double> FiniteNumberOf(const YAML::Node& node);

// InvalidArgument with the file and the node's line.
[[nodiscard]] absl::Status YamlErrorAt(const std::string& path, const YAML::Node& node,
                                       absl::string_view what);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_YAML_FILE_H_
