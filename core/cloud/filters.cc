// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/filters.h"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/container/flat_table.h"
#include "core/status/try.h"

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

PointCloud KeepWithinLimits(const PointCloud& cloud, const FilterOptions& options,
                            FilterCounts& counts) {
  PointCloud kept;
  kept.origin = cloud.origin;
  kept.Reserve(cloud.size());
  if (cloud.has_intensity()) kept.intensity.reserve(cloud.size());
  const double min_squared =
      options.min_range_m > 0.0 ? options.min_range_m * options.min_range_m : 0.0;
  const double max_squared = options.max_range_m * options.max_range_m;
  // Whether a finite point lies within every limit.
  const auto within = [&](const Eigen::Vector3d& point) {
    const double squared = point.squaredNorm();
    if (squared < min_squared || squared > max_squared) return false;
    if (point.z() < options.min_height_m || point.z() > options.max_height_m) return false;
    if (!options.box.has_value()) return true;
    return (point.array() >= options.box->min.array()).all() &&
           (point.array() <= options.box->max.array()).all();
  };
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) {
      ++counts.not_finite;
      continue;
    }
    if (!within(cloud.Point(i))) {
      ++counts.out_of_limits;
      continue;
    }
    kept.PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
    if (cloud.has_intensity()) kept.intensity.push_back(cloud.intensity[i]);
  }
  return kept;
}

constexpr double kMaxVoxelsPerAxis = 1 << 20;
// Doubles count whole voxels exactly up to here.
constexpr double kMaxVoxelIndex = 9007199254740992.0;

absl::Status CheckLeaf(const Bounds& bounds, double leaf_m) {
  if (!std::isfinite(leaf_m) || leaf_m <= 0.0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the voxel leaf must be finite and over 0 m (got ", leaf_m, ")"));
  }
  const double extent = (bounds.max - bounds.min).maxCoeff();
  const double furthest = bounds.min.cwiseAbs().cwiseMax(bounds.max.cwiseAbs()).maxCoeff();
  if (!(extent / leaf_m < kMaxVoxelsPerAxis) || !(furthest / leaf_m < kMaxVoxelIndex)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the voxel grid must have at most ", kMaxVoxelsPerAxis,
                     " voxels along an axis (got a leaf of ", leaf_m, " m for a cloud of ", extent,
                     " m at ", furthest, " m from zero)"));
  }
  return absl::OkStatus();
}

struct Voxel {
  Eigen::Vector3d offset_sum = Eigen::Vector3d::Zero();
  double intensity_sum = 0.0;
  double points = 0.0;
};

// Uniform in [0, bound). The standard's distributions differ between libraries; its generators do
// not.
uint64_t UniformBelow(uint64_t bound, std::mt19937_64& generator) {
  // Draws from the last, incomplete run of `bound` values would favour small results.
  const uint64_t excess = (std::numeric_limits<uint64_t>::max() % bound + 1) % bound;
  const uint64_t last_fair = std::numeric_limits<uint64_t>::max() - excess;
  uint64_t draw = generator();
  while (draw > last_fair) draw = generator();
  return draw % bound;
}

}  // namespace

absl::Status ValidateFilterOptions(const FilterOptions& options) {
  VOXLOC_TRY(CheckInterval("min_range_m", options.min_range_m, "max_range_m", options.max_range_m));
  if (options.max_range_m < 0.0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_range_m must be at least 0 (got ", options.max_range_m, ")"));
  }
  VOXLOC_TRY(
      CheckInterval("min_height_m", options.min_height_m, "max_height_m", options.max_height_m));
  if (options.box.has_value()) {
    constexpr const char* kAxes[3] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; ++axis) {
      VOXLOC_TRY(CheckInterval(absl::StrCat("box.min.", kAxes[axis]), options.box->min[axis],
                               absl::StrCat("box.max.", kAxes[axis]), options.box->max[axis]));
    }
  }
  if (!std::isfinite(options.voxel_leaf_m) || options.voxel_leaf_m < 0.0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "voxel_leaf_m must be 0 (off) or a finite length over 0 (got ", options.voxel_leaf_m, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<FilteredCloud> FilterCloud(const PointCloud& cloud, const FilterOptions& options) {
  VOXLOC_TRY(ValidateFilterOptions(options));
  FilteredCloud result;
  result.counts.received = cloud.size();
  result.cloud = KeepWithinLimits(cloud, options, result.counts);
  const size_t within_limits = result.cloud.size();
  if (options.voxel_leaf_m > 0.0) {
    VOXLOC_ASSIGN_OR_RETURN(result.cloud, VoxelDownsample(result.cloud, options.voxel_leaf_m));
  }
  if (options.max_points > 0 && result.cloud.size() > options.max_points) {
    result.cloud = RandomSample(result.cloud, options.max_points, options.random_seed);
  }
  result.counts.kept = result.cloud.size();
  result.counts.thinned = within_limits - result.counts.kept;
  return result;
}

absl::StatusOr<PointCloud> VoxelDownsample(const PointCloud& cloud, double leaf_m) {
  const Bounds bounds = ComputeBounds(cloud);
  VOXLOC_TRY(CheckLeaf(bounds, leaf_m));

  // The grid is anchored at the frame's zero for any origin of the cloud; indices count from the
  // cloud's lowest voxel, so that three of them fit a key.
  const Eigen::Vector3d first_index = (bounds.min / leaf_m).array().floor();
  const auto key_of = [&](const Eigen::Vector3d& point) {
    const Eigen::Vector3d index = (point / leaf_m).array().floor().matrix() - first_index;
    return static_cast<uint64_t>(index.x()) << 42 | static_cast<uint64_t>(index.y()) << 21 |
           static_cast<uint64_t>(index.z());
  };

  std::vector<Voxel> voxels;
  FlatTable<uint64_t, size_t> index_of;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const uint64_t key = key_of(cloud.Point(i));
    const size_t* const known = index_of.Find(key);
    const size_t index = known != nullptr ? *known : voxels.size();
    if (known == nullptr) {
      voxels.emplace_back();
      index_of.Insert(key, index);
    }
    Voxel& voxel = voxels[index];
    voxel.offset_sum += cloud.Offset(i).cast<double>();
    if (cloud.has_intensity()) voxel.intensity_sum += static_cast<double>(cloud.intensity[i]);
    voxel.points += 1.0;
  }

  PointCloud centroids;
  centroids.origin = cloud.origin;
  centroids.Reserve(voxels.size());
  for (const Voxel& voxel : voxels) {
    const Eigen::Vector3f offset = (voxel.offset_sum / voxel.points).cast<float>();
    centroids.PushBack(offset.x(), offset.y(), offset.z());
    if (cloud.has_intensity()) {
      centroids.intensity.push_back(static_cast<float>(voxel.intensity_sum / voxel.points));
    }
  }
  return centroids;
}

PointCloud RandomSample(const PointCloud& cloud, size_t max_points, uint64_t seed) {
  const size_t count = cloud.size();
  if (max_points == 0 || max_points >= count) return cloud;

  // Floyd's choice: every subset of max_points is equally likely, for one draw a point chosen.
  std::mt19937_64 generator(seed);
  std::vector<bool> chosen(count, false);
  for (size_t last = count - max_points; last < count; ++last) {
    const size_t pick = static_cast<size_t>(UniformBelow(last + 1, generator));
    chosen[chosen[pick] ? last : pick] = true;
  }

  PointCloud sample;
  sample.origin = cloud.origin;
  sample.Reserve(max_points);
  if (cloud.has_intensity()) sample.intensity.reserve(max_points);
  for (size_t i = 0; i < count; ++i) {
    if (!chosen[i]) continue;
    sample.PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
    if (cloud.has_intensity()) sample.intensity.push_back(cloud.intensity[i]);
  }
  return sample;
}

}  // namespace voxloc
