// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/thinned_points.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/numeric/bits.h"
#include "clients/cli/report/packing.h"

namespace voxloc::cli {
namespace {

constexpr int kCoordinateBits = 16;
constexpr double kMaxCoordinate = (1 << kCoordinateBits) - 1;

// Interleaves the bits of three coordinates, x the highest of each triple.
uint64_t MortonCode(const Eigen::Vector3d& coordinates) {
  uint64_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const auto value = static_cast<uint64_t>(std::min(kMaxCoordinate, coordinates[axis]));
    for (int bit = 0; bit < kCoordinateBits; ++bit) {
      code |= ((value >> bit) & 1U) << (3 * bit + 2 - axis);
    }
  }
  return code;
}

void AppendCoordinates(uint64_t code, std::string* bytes) {
  for (int axis = 0; axis < 3; ++axis) {
    uint64_t value = 0;
    for (int bit = 0; bit < kCoordinateBits; ++bit) {
      value |= ((code >> (3 * bit + 2 - axis)) & 1U) << bit;
    }
    AppendUint16(static_cast<uint32_t>(value), bytes);
  }
}

// The first level whose cells part a point from the one before it in the order of the codes.
size_t LevelOf(uint64_t code, uint64_t before) {
  const int highest_bit = static_cast<int>(absl::bit_width(code ^ before)) - 1;
  return static_cast<size_t>(kCoordinateBits - highest_bit / 3);
}

// Multiplication by 2^64 over the golden ratio scatters codes that follow each other.
uint64_t Scattered(uint64_t code) { return code * 0x9E3779B97F4A7C15U; }

}  // namespace

void ThinnedPoints::AddTile(const PointCloud& cloud_map) {
  Tile& tile = tiles_.emplace_back();
  const Bounds bounds = ComputeBounds(cloud_map);
  if (bounds.finite_points == 0) return;
  tile.origin_map = bounds.min;
  std::frexp((bounds.max - bounds.min).maxCoeff(), &tile.exponent);
  tile.exponent = std::max(0, tile.exponent);
  const double steps_per_metre = std::ldexp(1.0, kCoordinateBits - tile.exponent);
  std::vector<uint64_t> codes;
  codes.reserve(bounds.finite_points);
  for (size_t i = 0; i < cloud_map.size(); ++i) {
    if (!cloud_map.IsFinite(i)) continue;
    codes.push_back(MortonCode((cloud_map.Point(i) - tile.origin_map) * steps_per_metre));
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t level = i == 0 ? 0 : LevelOf(codes[i], codes[i - 1]);
    if (tile.exponent - static_cast<int>(level) < finest_exponent_) continue;
    tile.levels[level].push_back(codes[i]);
  }
  for (size_t level = 0; level < kLevels; ++level) {
    if (tile.levels[level].empty()) continue;
    counts_[tile.exponent - static_cast<int>(level)] += tile.levels[level].size();
    points_ += tile.levels[level].size();
  }
  DropFinestCells();
}

void ThinnedPoints::DropFinestCells() {
  while (points_ > max_points_ && points_ - counts_.begin()->second >= max_points_) {
    const auto [exponent, count] = *counts_.begin();
    for (Tile& tile : tiles_) {
      const int level = tile.exponent - exponent;
      if (level >= 0 && level < static_cast<int>(kLevels)) {
        tile.levels[static_cast<size_t>(level)] = {};
      }
    }
    points_ -= count;
    counts_.erase(counts_.begin());
    finest_exponent_ = exponent + 1;
  }
}

std::vector<ThinnedPoints::PackedTile> ThinnedPoints::Pack() const {
  const bool cut = points_ > max_points_;
  const uint64_t finest = cut ? counts_.begin()->second : 0;
  const uint64_t kept_of_finest = cut ? max_points_ - (points_ - finest) : 0;
  uint64_t seen_of_finest = 0;
  std::vector<PackedTile> packed;
  packed.reserve(tiles_.size());
  for (const Tile& tile : tiles_) {
    PackedTile& one = packed.emplace_back();
    one.origin_map = tile.origin_map;
    one.exponent = tile.exponent;
    for (size_t level = 0; level < kLevels; ++level) {
      std::vector<uint64_t> codes = tile.levels[level];
      std::sort(codes.begin(), codes.end(),
                [](uint64_t a, uint64_t b) { return Scattered(a) < Scattered(b); });
      if (cut && tile.exponent - static_cast<int>(level) == counts_.begin()->first) {
        const uint64_t before = kept_of_finest * seen_of_finest / finest;
        seen_of_finest += codes.size();
        codes.resize(kept_of_finest * seen_of_finest / finest - before);
      }
      one.level_points.push_back(codes.size());
      for (const uint64_t code : codes) AppendCoordinates(code, &one.bytes);
    }
    while (!one.level_points.empty() && one.level_points.back() == 0) one.level_points.pop_back();
  }
  return packed;
}

}  // namespace voxloc::cli
