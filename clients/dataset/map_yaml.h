// SPDX-License-Identifier: Apache-2.0
//
// pointcloud_map_metadata.yaml, with which Autoware describes a map cut into square tiles:
//
//   x_resolution: 20.0
//   y_resolution: 20.0
//   tile_a.pcd: [-20, 40]     # the tile's lowest x and y

#ifndef VOXLOC_CLIENTS_DATASET_MAP_YAML_H_
#define VOXLOC_CLIENTS_DATASET_MAP_YAML_H_

#include <Eigen/Core>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace voxloc {

struct MapYaml {
  Eigen::Vector2d resolution_m = Eigen::Vector2d::Zero();
  std::map<std::string, Eigen::Vector2d> lowest_corner_of;  // by file name
};

// InvalidArgument names the file and, where YAML knows it, the line.
[[nodiscard]] absl::StatusOr<MapYaml> ReadMapYaml(const std::string& path);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_YAML_H_
