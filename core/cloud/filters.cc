// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/filters.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

absl::Status CheckInterval(absl::string_view min_name, double min, absl::string_view max_name,
                           double max) {
  if (std::isnan(min) || std::isnan(max) || min > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(min_name, " must be at most ", max_name, " (got ", min, " and ", max, ")"));
  }
  return absl::OkStatus();
}

// Whether a finite point lies within every limit.
class Limits {
 public:
  explicit Limits(const FilterOptions& options)
      : options_(options),
        min_squared_(options.min_range_m > 0.0 ? options.min_range_m * options.min_range_m : 0.0),
        max_squared_(options.max_range_m * options.max_range_m) {}

  [[nodiscard]] bool Hold(const Eigen::Vector3d& point) const {
    const double squared = point.squaredNorm();
    if (squared < min_squared_ || squared > max_squared_) return false;
    if (point.z() < options_.min_height_m || point.z() > options_.max_height_m) return false;
    if (!options_.box.has_value()) return true;
    return (point.array() >= options_.box->min.array()).all() &&
           (point.array() <= options_.box->max.array()).all();
  }

 private:
  const FilterOptions& options_;
  double min_squared_;
  double max_squared_;
};

PointCloud KeepWithinLimits(const PointCloud& cloud, const FilterOptions& options,
                            FilterCounts& counts) {
  PointCloud kept;
  kept.origin = cloud.origin;
  kept.Reserve(cloud.size());
  if (cloud.has_intensity()) kept.intensity.reserve(cloud.size());
  const Limits limits(options);
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) {
      ++counts.not_finite;
      continue;
    }
    if (!limits.Hold(cloud.Point(i))) {
      ++counts.out_of_limits;
      continue;
    }
    kept.PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
    if (cloud.has_intensity()) kept.intensity.push_back(cloud.intensity[i]);
  }
  return kept;
}

}  // namespace

absl::Status ValidateFilterOptions(const FilterOptions& options) {
  absl::Status status =
      CheckInterval("min_range_m", options.min_range_m, "max_range_m", options.max_range_m);
  if (!status.ok()) return status;
  if (options.max_range_m < 0.0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_range_m must be at least 0 (got ", options.max_range_m, ")"));
  }
  status =
      CheckInterval("min_height_m", options.min_height_m, "max_height_m", options.max_height_m);
  if (!status.ok()) return status;
  if (options.box.has_value()) {
    constexpr const char* kAxes[3] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
      status = CheckInterval(absl::StrCat("box.min.", kAxes[axis]), options.box->min[axis],
                             absl::StrCat("box.max.", kAxes[axis]), options.box->max[axis]);
      if (!status.ok()) return status;
    }
  }
  if (!std::isfinite(options.voxel_leaf_m) || options.voxel_leaf_m < 0.0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "voxel_leaf_m must be 0 (off) or a finite length over 0 (got ", options.voxel_leaf_m, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<FilteredCloud> FilterCloud(const PointCloud& cloud, const FilterOptions& options) {
  if (absl::Status status = ValidateFilterOptions(options); !status.ok()) return status;
  FilteredCloud result;
  result.counts.received = cloud.size();
  result.cloud = KeepWithinLimits(cloud, options, result.counts);
  const size_t within_limits = result.cloud.size();
  if (options.voxel_leaf_m > 0.0) {
    absl::StatusOr<PointCloud> thinned = VoxelDownsample(result.cloud, options.voxel_leaf_m);
    if (!thinned.ok()) return thinned.status();
    result.cloud = *std::move(thinned);
  }
  if (options.max_points > 0 && result.cloud.size() > options.max_points) {
    result.cloud = RandomSample(result.cloud, options.max_points, options.random_seed);
  }
  result.counts.kept = result.cloud.size();
  result.counts.thinned = within_limits - result.counts.kept;
  return result;
}

}  // namespace voxloc
