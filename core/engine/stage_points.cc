// SPDX-License-Identifier: Apache-2.0

#include "core/engine/stage_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace voxloc {
namespace {

// Of larger scans every n-th point is looked at: that many fill the voxels of any stage.
constexpr size_t kMostConsidered = size_t{1} << 14;

// Voxels of a scan are counted within +-2^20 of the base along each axis.
constexpr int64_t kLargestIndex = (int64_t{1} << 20) - 1;

struct VoxelIndex {
  int64_t x;
  int64_t y;
  int64_t z;
};

int64_t FloorIndex(float coordinate, double inverse_edge) {
  const double index = std::floor(static_cast<double>(coordinate) * inverse_edge);
  return static_cast<int64_t>(
      std::clamp(index, -static_cast<double>(kLargestIndex), static_cast<double>(kLargestIndex)));
}

int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

uint64_t PackKey(const VoxelIndex& voxel) {
  const auto pack = [](int64_t i) { return static_cast<uint64_t>(i + kLargestIndex + 1); };
  return pack(voxel.x) << 42 | pack(voxel.y) << 21 | pack(voxel.z);
}

// The edges of a profile's voxels, the largest first, and how many of the smallest each spans.
struct Voxels {
  std::array<double, ndt::kMaxStages> edge_m{};
  std::array<int64_t, ndt::kMaxStages> ratio{};
  size_t levels = 0;
};

Voxels VoxelsOf(const Profile& profile) {
  Voxels voxels;
  for (const Stage& stage : profile.stages) {
    if (stage.point_voxel_m > 0.0) voxels.edge_m[voxels.levels++] = stage.point_voxel_m;
  }
  const auto begin = voxels.edge_m.begin();
  std::sort(begin, begin + voxels.levels, std::greater<>());
  voxels.levels =
      static_cast<size_t>(std::unique(begin, begin + voxels.levels) - voxels.edge_m.begin());
  for (size_t level = 0; level < voxels.levels; ++level) {
    voxels.ratio[level] = std::llround(voxels.edge_m[level] / voxels.edge_m[voxels.levels - 1]);
  }
  return voxels;
}

}  // namespace

bool HasThinnedStage(const Profile& profile) {
  return std::any_of(profile.stages.begin(), profile.stages.end(),
                     [](const Stage& stage) { return stage.point_voxel_m > 0.0; });
}

void StagePoints::Choose(const PointCloud& scan_base, const Profile& profile) {
  const Voxels voxels = VoxelsOf(profile);
  const size_t levels = voxels.levels;
  if (levels_.size() < levels) levels_.resize(levels);
  for (Level& level : levels_) level.Clear();
  const double inverse_edge = levels == 0 ? 0.0 : 1.0 / voxels.edge_m[levels - 1];

  const size_t points = scan_base.size();
  const size_t stride = (points + kMostConsidered - 1) / kMostConsidered;
  const Eigen::Vector3f origin = scan_base.origin.cast<float>();
  first_level_.assign(points, static_cast<uint8_t>(levels));
  std::array<uint32_t, ndt::kMaxStages + 2> begin{};  // of each level's points in the order
  constexpr uint8_t kNotFinite = 255;
  for (size_t i = 0; i < points; ++i) {
    const Eigen::Vector3f p = scan_base.Offset(i) + origin;
    if (!p.allFinite()) {
      first_level_[i] = kNotFinite;
      continue;
    }
    if (levels > 0 && i % stride == 0) {
      const VoxelIndex finest = {FloorIndex(p.x(), inverse_edge), FloorIndex(p.y(), inverse_edge),
                                 FloorIndex(p.z(), inverse_edge)};
      for (size_t level = 0; level < levels; ++level) {
        const int64_t by = voxels.ratio[level];
        const uint64_t key = PackKey(
            {FloorDivide(finest.x, by), FloorDivide(finest.y, by), FloorDivide(finest.z, by)});
        if (levels_[level].Find(key) != nullptr) continue;
        levels_[level].Insert(key, {});
        first_level_[i] = std::min(first_level_[i], static_cast<uint8_t>(level));
      }
    }
    ++begin[first_level_[i] + size_t{1}];
  }
  for (size_t level = 0; level <= levels; ++level) begin[level + 1] += begin[level];

  const uint32_t all = begin[levels + 1];
  for (size_t s = 0; s < profile.stages.size(); ++s) {
    const double edge_m = profile.stages[s].point_voxel_m;
    uint32_t chosen = all;
    for (size_t level = 0; level < levels; ++level) {
      if (voxels.edge_m[level] == edge_m) chosen = begin[level + 1];
    }
    counts_[s] = chosen;
  }
  order_.resize(all);
  for (size_t i = 0; i < points; ++i) {
    if (first_level_[i] == kNotFinite) continue;
    order_[begin[first_level_[i]]++] = static_cast<uint32_t>(i);
  }
}

}  // namespace voxloc
