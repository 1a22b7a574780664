// SPDX-License-Identifier: Apache-2.0

#include "core/engine/stage_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace voxloc {
namespace {

// Of larger scans every n-th point is looked at: so many fill the voxels of any stage.
constexpr size_t kMostConsidered = size_t{1} << 14;

constexpr uint8_t kNotFinite = 255;  // in place of a level

// Voxels of a scan are counted within +-2^20 of the base along each axis.
constexpr int32_t kLargestIndex = (1 << 20) - 1;

int32_t FloorIndex(float coordinate, float inverse_edge) {
  constexpr auto kLimit = static_cast<float>(kLargestIndex);
  const float index = std::clamp(coordinate * inverse_edge, -kLimit, kLimit);
  const auto truncated = static_cast<int32_t>(index);
  return truncated - (static_cast<float>(truncated) > index ? 1 : 0);
}

// b over 0.
int32_t FloorDivide(int32_t a, int32_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

uint64_t PackKey(int32_t x, int32_t y, int32_t z) {
  const auto pack = [](int32_t i) { return static_cast<uint64_t>(i + kLargestIndex + 1); };
  return pack(x) << 42 | pack(y) << 21 | pack(z);
}

// The edges of a profile's voxels, the largest first, and how many of the smallest each spans.
struct Voxels {
  std::array<double, ndt::kMaxStages> edge_m{};
  std::array<int32_t, ndt::kMaxStages> ratio{};
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
    voxels.ratio[level] =
        static_cast<int32_t>(std::lround(voxels.edge_m[level] / voxels.edge_m[voxels.levels - 1]));
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
  const size_t points = scan_base.size();
  first_level_.assign(points, static_cast<uint8_t>(levels));
  Consider(scan_base, levels == 0 ? 0.0 : 1.0 / voxels.edge_m[levels - 1]);
  // The first point of a voxel is also the first of the smaller one that it lies in.
  for (size_t level = 0; level < levels; ++level) {
    ClearSlots();
    for (size_t k = 0; k < considered_.size(); ++k) {
      const Considered& point = considered_[k];
      const int32_t by = voxels.ratio[level];
      keys_[k] = by == 1 ? PackKey(point.x, point.y, point.z)
                         : PackKey(FloorDivide(point.x, by), FloorDivide(point.y, by),
                                   FloorDivide(point.z, by));
      if (!IsFirst(k)) continue;
      uint8_t& first = first_level_[point.place];
      first = std::min(first, static_cast<uint8_t>(level));
    }
  }

  // One pass a level, each without a branch. The last writes may go one place too far.
  order_.resize(points + 1);
  std::array<uint32_t, ndt::kMaxStages + 1> end{};  // of each level's points in the order
  uint32_t written = 0;
  for (size_t level = 0; level <= levels; ++level) {
    for (size_t i = 0; i < points; ++i) {
      order_[written] = static_cast<uint32_t>(i);
      written += first_level_[i] == level ? 1U : 0U;
    }
    end[level] = written;
  }
  order_.resize(written);
  for (size_t s = 0; s < profile.stages.size(); ++s) {
    const double edge_m = profile.stages[s].point_voxel_m;
    counts_[s] = written;
    for (size_t level = 0; level < levels; ++level) {
      if (voxels.edge_m[level] == edge_m) counts_[s] = end[level];
    }
  }
}

void StagePoints::Consider(const PointCloud& scan_base, double inverse_edge) {
  const size_t points = scan_base.size();
  const size_t stride = std::max<size_t>(1, (points + kMostConsidered - 1) / kMostConsidered);
  const Eigen::Vector3f origin = scan_base.origin.cast<float>();
  const auto inverse = static_cast<float>(inverse_edge);
  considered_.resize(std::min(points, kMostConsidered + 1));
  size_t count = 0;
  size_t next = 0;
  for (size_t i = 0; i < points; ++i) {
    const float x = scan_base.x[i] + origin.x();
    const float y = scan_base.y[i] + origin.y();
    const float z = scan_base.z[i] + origin.z();
    // Zero times a number that is not finite is none.
    if (!(x * 0.0F + y * 0.0F + z * 0.0F == 0.0F)) {
      first_level_[i] = kNotFinite;
    } else if (i >= next) {
      considered_[count++] = {FloorIndex(x, inverse), FloorIndex(y, inverse),
                              FloorIndex(z, inverse), static_cast<uint32_t>(i)};
      next = i + stride;
    }
  }
  considered_.resize(count);
  keys_.resize(count);
}

void StagePoints::ClearSlots() {
  size_t slots = 64;
  shift_ = 64 - 6;
  while (slots < 2 * considered_.size()) {
    slots *= 2;
    --shift_;
  }
  slots_.assign(slots, 0);
}

bool StagePoints::IsFirst(size_t k) {
  const size_t mask = slots_.size() - 1;
  // By the golden ratio, whose multiples are far apart in their upper bits (Knuth 1973, 6.4).
  size_t place = (keys_[k] * 0x9E3779B97F4A7C15U) >> shift_;
  while (slots_[place] != 0) {
    if (keys_[slots_[place] - 1] == keys_[k]) return false;
    place = (place + 1) & mask;
  }
  slots_[place] = static_cast<uint32_t>(k) + 1;
  return true;
}

}  // namespace voxloc
