// SPDX-License-Identifier: Apache-2.0
//
// The cloud files that people name: those of a directory, the order in which they are paired with
// the lines of a file of poses, and how they are interpreted, in words; and where the points of a
// map come from: cloud files, directories of them, and Autoware's map directories, resolved into a
// list of tiles before any point is read.

#ifndef VOXLOC_CLIENTS_DATASET_CLOUD_SOURCES_H_
#define VOXLOC_CLIENTS_DATASET_CLOUD_SOURCES_H_

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/crs.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc {

// The paths of the files in `path` (not below it) whose names end as a cloud's does, in the numeric
// order of their names (core/text/names.h: 2.pcd before 10.pcd); or `path` itself where it is such
// a file. NotFound when there is no such path; InvalidArgument when it holds no cloud, and what
// lies there instead.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListClouds(const std::string& path);

// The order of `paths` in words, for people who pair them with poses: "in the numeric order of
// their names: 0.pcd, 1.pcd, 2.pcd, ... 11.pcd". InvalidArgument where the order is a matter of
// opinion: two names of a directory have the same numbers, decimal fractions of different width
// would be ordered differently as numbers, or the files given one by one are in byte order, as from
// a shell's *, and not in numeric order.
[[nodiscard]] absl::StatusOr<std::string> PairingOrder(const std::vector<std::string>& paths);

// What was assumed of files, and what looks wrong about them: a sentence each, without a full stop.
struct InputNotes {
  std::vector<std::string> remarks;
  std::vector<std::string> warnings;
};

// Notes on how ambiguous files are interpreted: that VIEWPOINT moves the points, and the record
// size of the first .bin file. Reads the headers of all files; unreadable ones are skipped and
// reported when they are loaded.
[[nodiscard]] std::vector<std::string> DescribeClouds(const std::vector<std::string>& paths,
                                                      const CloudReadOptions& options = {});

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
  // From the coordinates of the file to the map's; null: they are the map's, or map_T_cloud's.
  std::shared_ptr<const CrsToMap> crs;
};

struct MapSourceOptions {
  // A kitti trajectory with a pose for every tile; empty: the clouds are in the map's frame.
  std::string poses;
  size_t record_floats = 0;  // of .bin files, as CloudReadOptions has it
  // KITTI's calibration, with which the poses are its camera's; empty: none.
  std::string calibration;
  // The poses are map_T_base; nullopt: they are map_T_cloud.
  std::optional<Pose> base_T_sensor;
  // The coordinate reference system of all clouds, as CrsToMap::Create takes it; `auto`: that which
  // each LAS file states; empty: they are in the map's frame. Without poses.
  std::string crs;
  CrsHeights crs_heights = CrsHeights::kTransform;  // with `crs`
  v1::MapFrame frame;                               // with `crs`: where the map lies
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

// How its file is read: by its record_floats, and in any unit and by CrsToMap::xy_scale where its
// coordinates are transformed.
[[nodiscard]] CloudReadOptions ReadOptionsOf(const TileSource& source,
                                             const CloudReadOptions& limits = {});

// Points of its file, brought into the map's frame. Errors name the file.
[[nodiscard]] absl::StatusOr<PointCloud> PlaceInMap(const TileSource& source, PointCloud points);

// The tile's points in the map's frame; its record_floats is taken, not that of `limits`.
[[nodiscard]] absl::StatusOr<PointCloud> LoadTile(const TileSource& source,
                                                  const CloudReadOptions& limits = {});

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_CLOUD_SOURCES_H_
