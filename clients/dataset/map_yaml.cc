// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_yaml.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <exception>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/malformed.h"
#include "core/cloud/io/text_scan.h"

namespace voxloc {
namespace {

constexpr size_t kMaxYamlBytes = size_t{64} << 20;

// yaml-cpp's own conversion follows the process's locale; this one does not.
std::optional<double> NumberOf(const YAML::Node& node) {
  double value = 0.0;
  if (!node.IsScalar() || !ParseDouble(node.Scalar(), value) || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

absl::Status ErrorAt(const std::string& path, const YAML::Node& node, absl::string_view what) {
  return MalformedLine(path, static_cast<size_t>(node.Mark().line) + 1, what);
}

absl::Status ReadEntry(const std::string& path, const YAML::Node& key_node, const YAML::Node& value,
                       MapYaml& yaml) {
  if (!key_node.IsScalar()) return ErrorAt(path, key_node, "a key is not a word");
  const std::string& key = key_node.Scalar();
  if (key == "x_resolution" || key == "y_resolution") {
    const std::optional<double> number = NumberOf(value);
    if (!number.has_value() || *number <= 0.0) {
      return ErrorAt(path, key_node, absl::StrCat(key, " must be a number of metres over 0"));
    }
    yaml.resolution_m[key == "x_resolution" ? 0 : 1] = *number;
    return absl::OkStatus();
  }
  if (!value.IsSequence() || value.size() != 2) {
    return ErrorAt(path, key_node,
                   absl::StrCat(Quoted(key), " must have a list of two numbers, [min_x, min_y]"));
  }
  const std::optional<double> min_x = NumberOf(value[0]);
  const std::optional<double> min_y = NumberOf(value[1]);
  if (!min_x.has_value() || !min_y.has_value()) {
    return ErrorAt(path, key_node,
                   absl::StrCat("[min_x, min_y] of ", Quoted(key), " must be two finite numbers"));
  }
  if (!yaml.lowest_corner_of.emplace(key, Eigen::Vector2d(*min_x, *min_y)).second) {
    return ErrorAt(path, key_node, absl::StrCat(Quoted(key), " is named twice"));
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
  const absl::StatusOr<FileBytes> bytes = ReadFileBytes(path, kMaxYamlBytes);
  if (!bytes.ok()) return bytes.status();
  try {
    return Interpret(path, YAML::Load(std::string(bytes->view())));
  } catch (const YAML::Exception& error) {
    const std::string what = absl::StrCat("is not YAML: ", error.msg);
    if (error.mark.is_null()) return Malformed(path, what);
    return MalformedLine(path, static_cast<size_t>(error.mark.line) + 1, what);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": ", error.what()));
  }
}

}  // namespace voxloc
