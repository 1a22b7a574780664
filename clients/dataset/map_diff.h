// SPDX-License-Identifier: Apache-2.0
//
// What changed from one map to another: cubes of space that hold points in one of them only, and
// the places that they make up.
//
// A cube counts as come where the map after it has points in it and the map before has none in it
// nor in the 26 cubes around it, as gone the other way round. So what was measured again, with
// other points on the same surfaces, is no change, and things are found from about a cube on.

#ifndef VOXLOC_CLIENTS_DATASET_MAP_DIFF_H_
#define VOXLOC_CLIENTS_DATASET_MAP_DIFF_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// The points of a map by cubes. Thread-compatible.
class CubeMap {
 public:
  struct Cube {
    uint64_t points = 0;
    Eigen::Vector3d sum_map = Eigen::Vector3d::Zero();  // of its points, metres

    [[nodiscard]] Eigen::Vector3d Mean() const { return sum_map / static_cast<double>(points); }
  };
  using Index = Eigen::Vector3i;  // a cube spans [index, index + 1) * cube_m
  struct Hash {
    size_t operator()(const Index& index) const;
  };
  using Cubes = std::unordered_map<Index, Cube, Hash>;

  // About 2 GB of memory.
  static constexpr size_t kMaxCubes = size_t{1} << 24;

  explicit CubeMap(double cube_m) : cube_m_(cube_m) {}

  // Points that are not finite are left out. InvalidArgument: a point is more than 2^30 cubes from
  // zero, or there are more than kMaxCubes.
  [[nodiscard]] absl::Status Add(const PointCloud& cloud_map);

  [[nodiscard]] const Cubes& cubes() const { return cubes_; }
  [[nodiscard]] double cube_m() const { return cube_m_; }

  // Whether the cube or one of the 26 around it has points.
  [[nodiscard]] bool HasNear(const Index& index) const;

 private:
  double cube_m_;
  Cubes cubes_;
};

struct ChangedCube {
  bool came = false;  // or went
  CubeMap::Index index;
  uint64_t points = 0;
  Eigen::Vector3d mean_map;
};

// Cubes of one kind that touch each other.
struct ChangedPlace {
  bool came = false;
  size_t cubes = 0;
  uint64_t points = 0;
  Eigen::Vector3d mean_map;  // of its points
  Eigen::Vector3d min_map;   // of its cubes
  Eigen::Vector3d max_map;
  // Of a thing that seems to have moved: the place of the other kind, by its number in
  // MapDiff::places, and how far its box is from this one's, metres, middle to middle.
  std::optional<size_t> counterpart;
  double moved_m = 0.0;
};

struct MapDiff {
  std::vector<ChangedCube> cubes;    // by index: x, then y, then z
  std::vector<ChangedPlace> places;  // with the most points first
};

// Both maps have cubes of one size. Cubes with fewer points than `min_points` do not count as come
// or gone. A place that went and one that came are a thing that moved where their middles are
// within 5 m, their extents differ by a cube at most along each axis, and they have at least 4
// cubes each, the one at most half as many again as the other. Of several, the nearest one counts,
// and places with more points choose first.
[[nodiscard]] MapDiff DiffMaps(const CubeMap& before, const CubeMap& after, uint64_t min_points);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_DIFF_H_
