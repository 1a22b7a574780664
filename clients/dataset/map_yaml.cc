// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_yaml.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/dataset/trajectory_file.h"
#include "clients/dataset/yaml_file.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"
#include "core/text/names.h"
#include "core/text/utf8.h"

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

absl::Status ReadMap(const std::string& path, const YAML::Node& root, MapYaml& yaml) {
  if (!root.IsMap()) {
    return Malformed(path, "must be a map of x_resolution, y_resolution and file names");
  }
  for (const auto& entry : root) {
    VOXLOC_TRY(ReadEntry(path, entry.first, entry.second, yaml));
  }
  if (yaml.resolution_m.x() <= 0.0) return Malformed(path, "x_resolution is missing");
  if (yaml.resolution_m.y() <= 0.0) return Malformed(path, "y_resolution is missing");
  if (yaml.lowest_corner_of.empty()) return Malformed(path, "names no tile");
  return absl::OkStatus();
}

constexpr char kTransverseMercator[] = "TransverseMercator";

bool HasOrigin(const std::string& type) {
  return type == "LocalCartesianUTM" || type == kTransverseMercator || type == "LocalCartesian";
}

// That the key is missing, the keys that are there, and which of them may be meant.
std::string MissingText(const YAML::Node& parent, const char* key) {
  std::vector<std::string> keys;
  for (const auto& entry : parent) {
    if (entry.first.IsScalar()) keys.push_back(entry.first.Scalar());
  }
  std::string text =
      absl::StrCat(", and is missing; the keys here are ", Quoted(absl::StrJoin(keys, ", ")));
  std::string near = NearestName(key, keys);
  for (const std::string& name : keys) {
    if (near.empty() && absl::EndsWith(key, absl::StrCat("_", name))) near = name;
  }
  if (!near.empty()) absl::StrAppend(&text, "; is ", Quoted(near), " meant to be ", key, "?");
  return text;
}

absl::StatusOr<std::string> WordOf(const std::string& path, const YAML::Node& parent,
                                   const char* key) {
  const YAML::Node node = parent[key];
  if (!node) {
    return YamlErrorAt(path, parent,
                       absl::StrCat(key, " must be a word", MissingText(parent, key)));
  }
  if (!node.IsScalar() || node.Scalar().empty()) {
    return YamlErrorAt(path, node, absl::StrCat(key, " must be a word"));
  }
  const std::string& word = node.Scalar();
  const bool printable = std::none_of(word.begin(), word.end(), absl::ascii_iscntrl);
  if (printable && Utf8PrefixLength(word) == word.size()) return word;
  return YamlErrorAt(path, node, absl::StrCat(key, " must be a word of printable UTF-8"));
}

absl::StatusOr<double> DegreesOf(const std::string& path, const YAML::Node& origin,
                                 const char* key) {
  const YAML::Node node = origin[key];
  const std::optional<double> value = node ? FiniteNumberOf(node) : std::nullopt;
  if (value.has_value()) return *value;
  return YamlErrorAt(path, node ? node : origin,
                     absl::StrCat("map_origin.", key, " must be a number of degrees",
                                  node ? "" : MissingText(origin, key)));
}

absl::Status ReadOrigin(const std::string& path, const YAML::Node& root, v1::GeoPoint& point) {
  const YAML::Node origin = root["map_origin"];
  if (!origin || !origin.IsMap()) {
    return YamlErrorAt(path, origin ? origin : root,
                       "map_origin must have a latitude and a longitude");
  }
  VOXLOC_ASSIGN_OR_RETURN(const double latitude_deg, DegreesOf(path, origin, "latitude"));
  VOXLOC_ASSIGN_OR_RETURN(const double longitude_deg, DegreesOf(path, origin, "longitude"));
  point.set_latitude_deg(latitude_deg);
  point.set_longitude_deg(longitude_deg);
  if (const YAML::Node node = origin["altitude"]; node) {
    const std::optional<double> altitude_m = FiniteNumberOf(node);
    if (!altitude_m.has_value()) {
      return YamlErrorAt(path, node, "map_origin.altitude must be a number of metres");
    }
    point.set_altitude_m(*altitude_m);
  }
  return absl::OkStatus();
}

absl::Status ReadProjector(const std::string& path, const YAML::Node& root,
                           v1::MapProjector& projector) {
  if (!root.IsMap()) return Malformed(path, "must be a map that has a projector_type");
  VOXLOC_ASSIGN_OR_RETURN(const std::string type, WordOf(path, root, "projector_type"));
  projector.set_projector_type(type == "local" ? "Local" : type);
  if (projector.projector_type() == "Local") return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const std::string datum, WordOf(path, root, "vertical_datum"));
  projector.set_vertical_datum(datum);
  if (projector.projector_type() == "MGRS") {
    VOXLOC_ASSIGN_OR_RETURN(const std::string grid, WordOf(path, root, "mgrs_grid"));
    projector.set_mgrs_grid(grid);
  }
  if (HasOrigin(projector.projector_type())) {
    VOXLOC_TRY(ReadOrigin(path, root, *projector.mutable_map_origin()));
  }
  const YAML::Node scale = root["scale_factor"];
  if (projector.projector_type() == kTransverseMercator && scale) {
    const std::optional<double> value = FiniteNumberOf(scale);
    if (!value.has_value() || *value <= 0.0) {
      return YamlErrorAt(path, scale, "scale_factor must be a number over 0");
    }
    projector.set_scale_factor(*value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MapYaml> ReadMapYaml(const std::string& path) {
  MapYaml yaml;
  VOXLOC_TRY(ReadYamlFile(path, [&](const YAML::Node& root) { return ReadMap(path, root, yaml); }));
  return yaml;
}

absl::StatusOr<v1::MapProjector> ReadProjectorYaml(const std::string& path) {
  v1::MapProjector projector;
  VOXLOC_TRY(ReadYamlFile(
      path, [&](const YAML::Node& root) { return ReadProjector(path, root, projector); }));
  return projector;
}

std::string ProjectorYamlText(const v1::MapProjector& projector) {
  YAML::Emitter yaml;
  const auto write = [&yaml](const char* key, const std::string& value) {
    if (!value.empty()) yaml << YAML::Key << key << YAML::Value << value;
  };
  yaml << YAML::BeginMap << YAML::Key << "projector_type" << YAML::Value
       << projector.projector_type();
  write("vertical_datum", projector.vertical_datum());
  write("mgrs_grid", projector.mgrs_grid());
  if (projector.has_map_origin()) {
    yaml << YAML::Key << "map_origin" << YAML::Value << YAML::BeginMap;
    write("latitude", NumberText(projector.map_origin().latitude_deg()));
    write("longitude", NumberText(projector.map_origin().longitude_deg()));
    write("altitude", NumberText(projector.map_origin().altitude_m()));
    yaml << YAML::EndMap;
  }
  if (projector.projector_type() == kTransverseMercator && projector.scale_factor() > 0.0) {
    write("scale_factor", NumberText(projector.scale_factor()));
  }
  yaml << YAML::EndMap;
  return absl::StrCat(yaml.c_str(), "\n");
}

}  // namespace voxloc
