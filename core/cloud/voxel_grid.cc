// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/filters.h"
#include "core/container/flat_table.h"

namespace voxloc {
namespace {

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

}  // namespace

absl::StatusOr<PointCloud> VoxelDownsample(const PointCloud& cloud, double leaf_m) {
  const Bounds bounds = ComputeBounds(cloud);
  if (absl::Status status = CheckLeaf(bounds, leaf_m); !status.ok()) return status;

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

}  // namespace voxloc
