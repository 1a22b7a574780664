// SPDX-License-Identifier: Apache-2.0
//
// The files with which Autoware describes a map that is cut into square tiles,
// pointcloud_map_metadata.yaml:
//
//   x_resolution: 20.0
//   y_resolution: 20.0
//   tile_a.pcd: [-20, 40]     # the tile's lowest x and y
//
// and how its x and y follow from latitude and longitude, map_projector_info.yaml:
//
//   projector_type: LocalCartesianUTM
//   vertical_datum: WGS84
//   map_origin:
//     latitude: 35.6762   # degrees
//     longitude: 139.6503

#ifndef VOXLOC_CLIENTS_DATASET_MAP_YAML_H_
#define VOXLOC_CLIENTS_DATASET_MAP_YAML_H_

#include <Eigen/Core>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc {

struct MapYaml {
  Eigen::Vector2d resolution_m = Eigen::Vector2d::Zero();
  std::map<std::string, Eigen::Vector2d> lowest_corner_of;  // by file name
};

// InvalidArgument names the file and, where YAML knows it, the line.
[[nodiscard]] absl::StatusOr<MapYaml> ReadMapYaml(const std::string& path);

inline constexpr char kProjectorYamlName[] = "map_projector_info.yaml";

// As Autoware reads it: what the type does not use is passed over, and `local` of its early
// versions is Local. InvalidArgument names the file, the line and what is missing or malformed;
// which types and values there are, the server knows.
[[nodiscard]] absl::StatusOr<v1::MapProjector> ReadProjectorYaml(const std::string& path);

// What ReadProjectorYaml, and Autoware, read the same projector from.
[[nodiscard]] std::string ProjectorYamlText(const v1::MapProjector& projector);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_YAML_H_
