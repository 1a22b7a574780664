// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_yaml.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/dataset/yaml_file.h"
#include "core/cloud/io/malformed.h"

namespace voxloc {
namespace {

absl::Status ReadEntry(const std::string& path, const YAML::Node& key_node, const YAML::Node& value,
                       MapYaml& yaml) {
  if (!key_node.IsScalar()) return YamlErrorAt(path, key_node, "a key is not a word");
  const std::string& key = key_node.Scalar();
  if (key == "x_resolution" || key == "y_resolution") {
    const std::optional<double> number = FiniteNumberOf(value);
    if (!number.has_value() || *number <= 0.0) {
      return YamlErrorAt(path, key_node, absl::StrCat(key, " must be a number of metres over 0"));
    }
    yaml.resolution_m[key == "x_resolution" ? 0 : 1] = *number;
    return absl::OkStatus();
  }
  if (!value.IsSequence() || value.size() != 2) {
    return YamlErrorAt(
        path, key_node,
        absl::StrCat(Quoted(key), " must have a list of two numbers, [min_x, min_y]"));
  }
  const std::optional<double> min_x = FiniteNumberOf(value[0]);
  const std::optional<double> min_y = FiniteNumberOf(value[1]);
  if (!min_x.has_value() || !min_y.has_value()) {
    return YamlErrorAt(
        path, key_node,
        absl::StrCat("[min_x, min_y] of ", Quoted(key), " must be two finite numbers"));
  }
  if (!yaml.lowest_corner_of.emplace(key, Eigen::Vector2d(*min_x, *min_y)).second) {
    return YamlErrorAt(path, key_node, absl::StrCat(Quoted(key), " is named twice"));
  }
  return absl::OkStatus();
}

absl::StatusOr<MapYaml> Interpret(const std::string& path, const YAML::Node& root) {
  if (!root.IsMap()) {
    return Malformed(path, "must be a map of x_resolution, y_resolution and file names");
  }
  MapYaml yaml;
  for (const auto& entry : root) {
    if (absl::Status status = ReadEntry(path, entry.first, entry.second, yaml); !status.ok()) {
      return status;
    }
  }
  if (yaml.resolution_m.x() <= 0.0) return Malformed(path, "x_resolution is missing");
  if (yaml.resolution_m.y() <= 0.0) return Malformed(path, "y_resolution is missing");
  if (yaml.lowest_corner_of.empty()) return Malformed(path, "names no tile");
  return yaml;
}

}  // namespace

absl::StatusOr<MapYaml> ReadMapYaml(const std::string& path) {
  MapYaml yaml;
  const absl::Status status = ReadYamlFile(path, [&](const YAML::Node& root) {
    absl::StatusOr<MapYaml> read = Interpret(path, root);
    if (!read.ok()) return read.status();
    yaml = *std::move(read);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return yaml;
}

}  // namespace voxloc
