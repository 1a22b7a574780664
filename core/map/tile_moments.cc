// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_moments.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/map/block_index.h"

namespace voxloc {
namespace {

bool IsFinitePoint(float x, float y, float z) {
  // One test for three: the sum of finite numbers scaled by zero is zero, of others NaN.
  return (x * 0.0F + y * 0.0F + z * 0.0F) == 0.0F;
}

// std::floor without its call: coordinates are known to fit 32 bits.
int32_t FloorIndex(double value) {
  const auto truncated = static_cast<int32_t>(value);
  return truncated - static_cast<int32_t>(value < static_cast<double>(truncated));
}

// A point in the order of its block: its offset from the cloud's origin and its cell's place.
struct PlacedPoint {
  float x;
  float y;
  float z;
  uint32_t place;
};

// Points brought into the order of their blocks, keeping their order within one.
struct SortedPoints {
  std::vector<CellKey> blocks;      // by number
  std::vector<uint32_t> block_end;  // by number: end of its run below
  std::vector<PlacedPoint> points;
};

SortedPoints SortByBlock(const PointCloud& cloud, const Bounds& bounds, double cell_size_m) {
  const double inverse = 1.0 / cell_size_m;
  BlockIndex index(BlockOf(CellOf(bounds.min, cell_size_m)),
                   BlockOf(CellOf(bounds.max, cell_size_m)));
  const size_t n = cloud.size();
  std::vector<uint32_t> block_of(n);
  std::vector<uint16_t> place_of(n);
  std::vector<uint32_t> counts;
  const Eigen::Vector3d origin = cloud.origin;
  for (size_t i = 0; i < n; ++i) {
    if (!IsFinitePoint(cloud.x[i], cloud.y[i], cloud.z[i])) {
      block_of[i] = BlockIndex::kNone;
      continue;
    }
    const CellKey cell = {FloorIndex((origin.x() + static_cast<double>(cloud.x[i])) * inverse),
                          FloorIndex((origin.y() + static_cast<double>(cloud.y[i])) * inverse),
                          FloorIndex((origin.z() + static_cast<double>(cloud.z[i])) * inverse)};
    const uint32_t number = index.FindOrAdd(BlockOf(cell));
    if (number == counts.size()) counts.push_back(0);
    ++counts[number];
    block_of[i] = number;
    place_of[i] = static_cast<uint16_t>(PlaceInBlock(cell));
  }

  SortedPoints sorted;
  sorted.blocks = index.blocks();
  std::vector<uint32_t> cursor(counts.size());
  uint32_t begin = 0;
  for (size_t b = 0; b < counts.size(); ++b) {
    cursor[b] = begin;
    begin += counts[b];
  }
  sorted.points.resize(begin);
  for (size_t i = 0; i < n; ++i) {
    if (block_of[i] == BlockIndex::kNone) continue;
    sorted.points[cursor[block_of[i]]++] = {cloud.x[i], cloud.y[i], cloud.z[i], place_of[i]};
  }
  sorted.block_end = std::move(cursor);
  return sorted;
}

// Accumulators of one block's cells.
struct BlockAccumulator {
  ndt::CellMoments moments[kBlockCells];
  FloatSum float_sums[kBlockCells];
};

void AppendBlock(const SortedPoints& sorted, const Eigen::Vector3d& origin, uint32_t number,
                 BlockAccumulator& accumulator, TileMoments& tile) {
  const uint32_t begin = number == 0 ? 0 : sorted.block_end[number - 1];
  const uint32_t end = sorted.block_end[number];
  const CellKey block = sorted.blocks[number];
  const double size = tile.cell_size_m;
  // The centre of place 0, relative to the cloud's origin, so that offsets need one subtraction.
  const Eigen::Vector3d base = CellCentre(CellAt(block, 0), size) - origin;
  for (uint32_t i = begin; i < end; ++i) {
    const PlacedPoint& point = sorted.points[i];
    const uint32_t place = point.place;
    ndt::AddPoint({static_cast<double>(point.x) - (base.x() + size * (place & 7U)),
                   static_cast<double>(point.y) - (base.y() + size * ((place >> 3) & 7U)),
                   static_cast<double>(point.z) - (base.z() + size * (place >> 6))},
                  accumulator.moments[place]);
    FloatSum& sum = accumulator.float_sums[place];
    sum.x += point.x;
    sum.y += point.y;
    sum.z += point.z;
  }

  TileMoments::Block run;
  run.key = block;
  run.begin = static_cast<uint32_t>(tile.places.size());
  for (uint32_t place = 0; place < kBlockCells; ++place) {
    if (accumulator.moments[place].count == 0) continue;
    tile.places.push_back(static_cast<uint16_t>(place));
    tile.moments.push_back(accumulator.moments[place]);
    tile.float_sums.push_back(accumulator.float_sums[place]);
    accumulator.moments[place] = {};
    accumulator.float_sums[place] = {};
  }
  run.end = static_cast<uint32_t>(tile.places.size());
  tile.blocks.push_back(run);
}

}  // namespace

size_t TileMoments::MemoryBytes() const {
  return sizeof(*this) + blocks.capacity() * sizeof(Block) + places.capacity() * sizeof(uint16_t) +
         moments.capacity() * sizeof(ndt::CellMoments) + float_sums.capacity() * sizeof(FloatSum);
}

absl::StatusOr<TileMoments> BuildTileMoments(const PointCloud& cloud_map, double cell_size_m) {
  if (!(cell_size_m > 0.0) || !std::isfinite(cell_size_m)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cell size must be finite and over 0 m (got ", cell_size_m, ")"));
  }
  const Bounds bounds = ComputeBounds(cloud_map);
  if (bounds.finite_points == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("none of the tile's ", cloud_map.size(), " points is finite"));
  }
  if (!cloud_map.origin.allFinite()) {
    return absl::InvalidArgumentError("the origin of the tile's cloud is not finite");
  }
  const double reach_m =
      std::max(bounds.max.cwiseAbs().maxCoeff(), bounds.min.cwiseAbs().maxCoeff());
  if (!(reach_m < kMaxCellIndex * cell_size_m)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a point lies ", reach_m, " m from the map's origin; with cells of ",
                     cell_size_m, " m at most ", kMaxCellIndex * cell_size_m, " m is allowed"));
  }

  TileMoments tile;
  tile.cell_size_m = cell_size_m;
  tile.origin = cloud_map.origin;
  tile.points = bounds.finite_points;
  tile.not_finite = cloud_map.size() - bounds.finite_points;

  const SortedPoints sorted = SortByBlock(cloud_map, bounds, cell_size_m);
  std::vector<uint32_t> order(sorted.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return sorted.blocks[a] < sorted.blocks[b]; });
  const auto accumulator = std::make_unique<BlockAccumulator>();
  for (const uint32_t number : order) {
    AppendBlock(sorted, cloud_map.origin, number, *accumulator, tile);
  }
  return tile;
}

}  // namespace voxloc
