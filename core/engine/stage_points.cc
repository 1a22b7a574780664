// SPDX-License-Identifier: Apache-2.0

#include "core/engine/stage_points.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace voxloc {
namespace {

// Of larger scans only every n-th point is sampled. This many fill the voxels of any stage.
constexpr size_t kMaxSampledPoints = size_t{1} << 14;

// In place of a level: of a point that is not finite, or that is not the first of its voxel.
constexpr uint8_t kNoLevel = 255;

// Voxels of a scan are counted within +-2^20 of the base along each axis.
constexpr int32_t kMaxPackedIndex = (1 << 20) - 1;

// b over 0.
int32_t FloorDivide(int32_t a, int32_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

uint64_t PackKey(int32_t x, int32_t y, int32_t z) {
  const auto pack = [](int32_t i) {
    return static_cast<uint64_t>(int64_t{i} + kMaxPackedIndex + 1);
  };
  return pack(x) << 42 | pack(y) << 21 | pack(z);
}

// What is needed of points that follow one another, by loops without a branch, which compilers turn
// into vector instructions.
class PointBlock {
 public:
  static constexpr size_t kSize = 256;

  void Load(const PointCloud& scan_base, size_t begin, size_t size, float inverse_edge) {
    const float* const x = scan_base.x.data() + begin;
    const float* const y = scan_base.y.data() + begin;
    const float* const z = scan_base.z.data() + begin;
    const Eigen::Vector3d origin = scan_base.origin;
    const Eigen::Vector3f near_origin = origin.cast<float>();
    for (size_t i = 0; i < size; ++i) {
      // 0 * x is NaN if x is not finite.
      zero_[i] = (x[i] + near_origin.x()) * 0.0F + (y[i] + near_origin.y()) * 0.0F +
                 (z[i] + near_origin.z()) * 0.0F;
    }
    for (size_t i = 0; i < size; ++i) {
      const double px = origin.x() + static_cast<double>(x[i]);
      const double py = origin.y() + static_cast<double>(y[i]);
      const double pz = origin.z() + static_cast<double>(z[i]);
      // Added as Eigen does, to the last bit.
      squared_range_[i] = px * px + (py * py + pz * pz);
    }
    size_ = size;
    ComputeIndices(x, near_origin.x(), inverse_edge, index_x_);
    ComputeIndices(y, near_origin.y(), inverse_edge, index_y_);
    ComputeIndices(z, near_origin.z(), inverse_edge, index_z_);
  }

  [[nodiscard]] bool IsFinite(size_t i) const { return zero_[i] == 0.0F; }
  // Where it is finite: its squared distance from the base, and its voxel.
  [[nodiscard]] double squared_range(size_t i) const { return squared_range_[i]; }
  [[nodiscard]] uint64_t Key(size_t i) const {
    return PackKey(index_x_[i], index_y_[i], index_z_[i]);
  }

 private:
  void ComputeIndices(const float* offset, float origin, float inverse_edge,
                      std::array<int32_t, kSize>& index) const {
    using Floats = Eigen::Array<float, Eigen::Dynamic, 1, 0, kSize, 1>;
    constexpr auto kLimit = static_cast<float>(kMaxPackedIndex);
    const auto size = static_cast<Eigen::Index>(size_);
    const Eigen::Map<const Floats> offsets(offset, size);
    Floats scaled = ((offsets + origin) * inverse_edge).max(-kLimit).min(kLimit);
    // What is not a number must not become an integer.
    if (!(Eigen::Map<const Floats>(zero_.data(), size).sum() == 0.0F)) {
      for (size_t i = 0; i < size_; ++i) {
        if (!IsFinite(i)) scaled[static_cast<Eigen::Index>(i)] = 0.0F;
      }
    }
    const float* const at = scaled.data();
    for (size_t i = 0; i < size_; ++i) {
      const auto truncated = static_cast<int32_t>(at[i]);
      index[i] = truncated - static_cast<int32_t>(static_cast<float>(truncated) > at[i]);
    }
  }

  size_t size_ = 0;
  std::array<float, kSize> zero_;  // not zero where a coordinate is not finite
  std::array<double, kSize> squared_range_;
  std::array<int32_t, kSize> index_x_;
  std::array<int32_t, kSize> index_y_;
  std::array<int32_t, kSize> index_z_;
};

// The same voxel's key where voxels are `by` times as large.
uint64_t Coarser(uint64_t key, int32_t by) {
  constexpr uint64_t kMask = (uint64_t{1} << 21) - 1;
  const auto divide = [&](int shift) {
    return FloorDivide(static_cast<int32_t>(key >> shift & kMask) - kMaxPackedIndex - 1, by);
  };
  return PackKey(divide(42), divide(21), divide(0));
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

void StagePoints::Select(const PointCloud& scan_base, const Profile& profile) {
  const Voxels voxels = VoxelsOf(profile);
  const size_t levels = voxels.levels;
  const size_t points = scan_base.size();
  first_level_.assign(points, static_cast<uint8_t>(levels));
  CollectVoxelKeys(scan_base, levels == 0 ? 0.0 : 1.0 / voxels.edge_m[levels - 1]);
  for (size_t level = 0; level < levels; ++level) {
    MarkFirsts(voxels.ratio[level], static_cast<uint8_t>(level));
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

void StagePoints::CollectVoxelKeys(const PointCloud& scan_base, double inverse_edge) {
  const size_t points = scan_base.size();
  const size_t stride = std::max<size_t>(1, (points + kMaxSampledPoints - 1) / kMaxSampledPoints);
  const auto inverse = static_cast<float>(inverse_edge);
  keys_.resize(std::min(points, kMaxSampledPoints + 1));
  places_.resize(keys_.size());
  uint64_t* const keys = keys_.data();
  uint32_t* const places = places_.data();
  size_t count = 0;
  size_t next = 0;
  size_t finite = 0;
  double squares = 0.0;
  PointBlock block;
  for (size_t begin = 0; begin < points; begin += PointBlock::kSize) {
    const size_t size = std::min(PointBlock::kSize, points - begin);
    block.Load(scan_base, begin, size, inverse);
    for (size_t i = 0; i < size; ++i) {
      const size_t place = begin + i;
      if (!block.IsFinite(i)) {
        first_level_[place] = kNoLevel;
        continue;
      }
      squares += block.squared_range(i);
      ++finite;
      if (place < next) continue;
      keys[count] = block.Key(i);
      places[count++] = static_cast<uint32_t>(place);
      next = place + stride;
    }
  }
  keys_.resize(count);
  places_.resize(count);
  root_mean_square_range_ = finite == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(finite));
}

void StagePoints::MarkFirsts(int32_t by, uint8_t level) {
  size_t slots = 64;
  int shift = 64 - 6;  // from 64 bits of a hash to a slot
  while (slots < 2 * keys_.size()) {
    slots *= 2;
    --shift;
  }
  slots_.assign(slots, 0);
  // By linear probing. Plain pointers, since the compiler cannot know that writing a slot leaves
  // the vectors as they are.
  uint64_t* const table = slots_.data();
  const uint64_t* const keys = keys_.data();
  const uint32_t* const places = places_.data();
  uint8_t* const first_level = first_level_.data();
  const size_t mask = slots - 1;
  const size_t count = keys_.size();
  for (size_t k = 0; k < count; ++k) {
    const uint64_t key = by == 1 ? keys[k] : Coarser(keys[k], by);
    // By the golden ratio, whose multiples are far apart in their upper bits (Knuth 1973, 6.4).
    size_t slot = (key * 0x9E3779B97F4A7C15U) >> shift;
    uint64_t in_slot = table[slot];
    // Zero where the slot is free or has the key: which of the two is left to chance, so that no
    // branch may depend on it.
    while (std::min(in_slot, in_slot ^ key) != 0) {
      slot = (slot + 1) & mask;
      in_slot = table[slot];
    }
    table[slot] = key;
    // The first point of a voxel has its level; others have none. It is also the first of the
    // smaller voxel that it lies in.
    const uint8_t of_voxel = in_slot == 0 ? level : kNoLevel;
    first_level[places[k]] = std::min(first_level[places[k]], of_voxel);
  }
}

}  // namespace voxloc
