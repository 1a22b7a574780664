// SPDX-License-Identifier: Apache-2.0
//
// Preprocessing of a scan before alignment, in this order: drop points that are not finite; crop to
// the range, the height and the box; downsample by a voxel grid; sample at random with a seed. Pure
// functions: the same input gives the same output, in the same order, on every machine.

#ifndef VOXLOC_CORE_CLOUD_FILTERS_H_
#define VOXLOC_CORE_CLOUD_FILTERS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct FilterOptions {
  // Distance from the cloud frame's zero, metres; points with min <= range <= max stay. Missing
  // returns are often written as (0, 0, 0), hence a minimum that is not zero.
  double min_range_m = 0.0;
  double max_range_m = std::numeric_limits<double>::infinity();
  // z in the cloud's frame, metres; min <= z <= max stay.
  double min_height_m = -std::numeric_limits<double>::infinity();
  double max_height_m = std::numeric_limits<double>::infinity();
  // Axis-aligned box in the cloud's frame, metres, borders included.
  struct Box {
    Eigen::Vector3d min;
    Eigen::Vector3d max;
  };
  std::optional<Box> box;
  // Edge of the voxel grid, metres; each occupied voxel becomes the centroid of its points, in the
  // order in which the voxels were first met. 0: off.
  double voxel_leaf_m = 0.0;
  // A random choice of this many points without replacement, in their order. 0: all.
  size_t max_points = 0;
  uint64_t random_seed = 0;
};

struct FilterCounts {
  size_t received = 0;
  size_t not_finite = 0;
  size_t out_of_limits = 0;  // range, height, box
  size_t thinned = 0;        // voxel grid and random choice
  size_t kept = 0;           // received = not_finite + out_of_limits + thinned + kept
};

struct FilteredCloud {
  PointCloud cloud;
  FilterCounts counts;
};

// InvalidArgument names the option and its value when a limit is NaN, a minimum exceeds its maximum
// or the leaf is negative; from FilterCloud also when the leaf is so small for the cloud that voxel
// indices would overflow (extent / leaf >= 2^20).
[[nodiscard]] absl::Status ValidateFilterOptions(const FilterOptions& options);
[[nodiscard]] absl::StatusOr<FilteredCloud> FilterCloud(const PointCloud& cloud,
                                                        const FilterOptions& options);

// The parts, for callers that need one. VoxelDownsample drops points that are not finite; its grid
// is anchored at the frame's zero. A voxel's intensity is the mean of its points'.
[[nodiscard]] absl::StatusOr<PointCloud> VoxelDownsample(const PointCloud& cloud, double leaf_m);
[[nodiscard]] PointCloud RandomSample(const PointCloud& cloud, size_t max_points, uint64_t seed);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_FILTERS_H_
