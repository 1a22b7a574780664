// SPDX-License-Identifier: Apache-2.0
//
// Where the points of a map come from: cloud files, directories of them, and Autoware's map
// directories, resolved into a list of tiles before any point is read.

#ifndef VOXLOC_CLIENTS_DATASET_MAP_SOURCE_H_
#define VOXLOC_CLIENTS_DATASET_MAP_SOURCE_H_

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/scan_directory.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

// A rectangle in the map's x and y, metres.
struct XyBounds {
  Eigen::Vector2d min = Eigen::Vector2d::Zero();
  Eigen::Vector2d max = Eigen::Vector2d::Zero();
};

struct TileSource {
  // The file's name without its extension; "-2", "-3" and so on follow where it came before.
  std::string id;
  std::string path;
  std::optional<Pose> map_T_cloud;
  std::optional<XyBounds> bounds;  // as the map's metadata declares them
  size_t record_floats = 0;        // as CloudReadOptions has it
  bool listed = false;             // found in a directory, not named by the user
};

struct MapSourceOptions {
  // A kitti trajectory with a pose for every tile; empty: the clouds are in the map's frame.
  std::string poses;
  size_t record_floats = 0;  // of .bin files, as CloudReadOptions has it
  // KITTI's calibration, with which the poses are its camera's; empty: none.
  std::string calibration;
  // The poses are map_T_base; nullopt: they are map_T_cloud.
  std::optional<Pose> base_T_sensor;
};

// The tiles of `paths`, in their order; within a directory, in the numeric order of the names. A
// directory with pointcloud_map_metadata.yaml holds what that file names, itself or in its folder
// pointcloud_map.pcd; a directory without it holds its cloud files. `notes`, where given, gets what
// the user should know of how the paths are read: the order in which clouds are paired with poses,
// DescribeClouds, and warnings on the axes of the poses.
[[nodiscard]] absl::StatusOr<std::vector<TileSource>> ResolveMapSources(
    const std::vector<std::string>& paths, const MapSourceOptions& options = {},
    InputNotes* notes = nullptr);

// map_projector_info.yaml in a directory, where there is one.
[[nodiscard]] std::optional<std::string> FindProjectorYaml(const std::string& path);

// The tile's points in the map's frame; its record_floats is taken, not that of `limits`.
[[nodiscard]] absl::StatusOr<PointCloud> LoadTile(const TileSource& source,
                                                  const CloudReadOptions& limits = {});

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_SOURCE_H_
