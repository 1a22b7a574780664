// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_moments.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/map/block_map.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {
namespace {

bool IsFinitePoint(float x, float y, float z) {
  // One test for three: 0 * v is 0 for finite v, otherwise NaN.
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
  std::vector<CellKey> blocks;            // by number
  std::vector<uint32_t> block_end;        // by number: end of its run below
  std::unique_ptr<PlacedPoint[]> points;  // finite ones

  [[nodiscard]] uint32_t Begin(uint32_t number) const {
    return number == 0 ? 0 : block_end[number - 1];
  }
};

// Fewer points than this are not worth the merge with the other segments.
constexpr size_t kPointsPerSegment = 16384;
// Parts of the work for each thread: blocks differ in their points, and a thread may be busy.
constexpr size_t kPartsPerThread = 4;
// Entries of the segments' tables of blocks for each point: filling them takes time too.
constexpr double kTableEntriesPerPoint = 4.0;

size_t PartsFor(const ThreadPool* pool) {
  return pool == nullptr || pool->threads() == 1 ? 1 : kPartsPerThread * pool->threads();
}

// A run of the cloud that one thread sorts, with blocks numbered as they come in it.
struct Segment {
  size_t begin = 0;
  size_t end = 0;
  BlockIndex index;
  std::vector<uint32_t> counts;  // by number; then where the next point goes
};

// The block and place of each point. Points that are not finite have block kNone and no place.
struct PointPlaces {
  explicit PointPlaces(size_t points) : block(new uint32_t[points]), place(new uint16_t[points]) {}
  std::unique_ptr<uint32_t[]> block;  // its number in the segment
  std::unique_ptr<uint16_t[]> place;  // in the block
};

void FindPlaces(const PointCloud& cloud, double cell_size_m, Segment& segment,
                PointPlaces& places) {
  const double inverse = 1.0 / cell_size_m;
  const Eigen::Vector3d origin = cloud.origin;
  for (size_t i = segment.begin; i < segment.end; ++i) {
    if (!IsFinitePoint(cloud.x[i], cloud.y[i], cloud.z[i])) {
      places.block[i] = BlockIndex::kNone;
      continue;
    }
    const CellKey cell = {FloorIndex((origin.x() + static_cast<double>(cloud.x[i])) * inverse),
                          FloorIndex((origin.y() + static_cast<double>(cloud.y[i])) * inverse),
                          FloorIndex((origin.z() + static_cast<double>(cloud.z[i])) * inverse)};
    const uint32_t number = segment.index.FindOrAdd(BlockOf(cell));
    if (number == segment.counts.size()) segment.counts.push_back(0);
    ++segment.counts[number];
    places.block[i] = number;
    places.place[i] = static_cast<uint16_t>(PlaceInBlock(cell));
  }
}

size_t SegmentsFor(size_t points, const CellKey& first, const CellKey& last,
                   const ThreadPool* pool) {
  const double blocks = (static_cast<double>(last.x) - first.x + 1.0) *
                        (static_cast<double>(last.y) - first.y + 1.0) *
                        (static_cast<double>(last.z) - first.z + 1.0);
  const double most = kTableEntriesPerPoint * static_cast<double>(points) / blocks;
  const size_t wanted = std::min(points / kPointsPerSegment, PartsFor(pool));
  return most < static_cast<double>(wanted) ? 1 : std::max<size_t>(1, wanted);
}

// Segments are counted and filled in parallel, and follow one another within every block: points
// keep the order of the cloud, whatever the number of segments.
SortedPoints SortByBlock(const PointCloud& cloud, const Bounds& bounds, double cell_size_m,
                         ThreadPool* pool) {
  const CellKey first = BlockOf(CellOf(bounds.min, cell_size_m));
  const CellKey last = BlockOf(CellOf(bounds.max, cell_size_m));
  const size_t n = cloud.size();
  std::vector<Segment> segments(SegmentsFor(n, first, last, pool));
  PointPlaces places(n);
  ParallelFor(pool, segments.size(), [&](size_t s) {
    Segment& segment = segments[s];
    segment.begin = n * s / segments.size();
    segment.end = n * (s + 1) / segments.size();
    segment.index = BlockIndex(first, last);
    FindPlaces(cloud, cell_size_m, segment, places);
  });

  SortedPoints sorted;
  BlockIndex index(first, last);
  std::vector<std::vector<uint32_t>> number_of(segments.size());  // by the segment's number
  for (size_t s = 0; s < segments.size(); ++s) {
    const std::vector<CellKey>& blocks = segments[s].index.blocks();
    for (size_t b = 0; b < blocks.size(); ++b) {
      const uint32_t number = index.FindOrAdd(blocks[b]);
      if (number == sorted.block_end.size()) sorted.block_end.push_back(0);
      sorted.block_end[number] += segments[s].counts[b];
      number_of[s].push_back(number);
    }
  }
  sorted.blocks = index.blocks();
  std::vector<uint32_t> next;
  next.reserve(sorted.block_end.size());
  uint32_t end = 0;
  for (uint32_t& block_end : sorted.block_end) {
    next.push_back(end);
    end += block_end;
    block_end = end;
  }
  for (size_t s = 0; s < segments.size(); ++s) {
    for (size_t b = 0; b < number_of[s].size(); ++b) {
      uint32_t& begin = next[number_of[s][b]];
      const uint32_t count = segments[s].counts[b];
      segments[s].counts[b] = begin;
      begin += count;
    }
  }
  sorted.points.reset(new PlacedPoint[end]);
  ParallelFor(pool, segments.size(), [&](size_t s) {
    Segment& segment = segments[s];
    for (size_t i = segment.begin; i < segment.end; ++i) {
      if (places.block[i] == BlockIndex::kNone) continue;
      sorted.points[segment.counts[places.block[i]]++] = {cloud.x[i], cloud.y[i], cloud.z[i],
                                                          places.place[i]};
    }
  });
  return sorted;
}

// Accumulators of one block's cells.
struct BlockAccumulator {
  ndt::CellMoments moments[kBlockCells];
  FloatSum float_sums[kBlockCells];
};

// Writes the cells of block `number` to the range `run`. The accumulator is zero before and after.
void FillBlock(const SortedPoints& sorted, uint32_t number, const TileMoments::Block& run,
               BlockAccumulator& accumulator, TileMoments& tile) {
  const double size = tile.cell_size_m;
  // The centre of place 0, relative to the cloud's origin, so that offsets need one subtraction.
  const Eigen::Vector3d base = CellCentre(CellAt(run.key, 0), size) - tile.origin;
  for (uint32_t i = sorted.Begin(number); i < sorted.block_end[number]; ++i) {
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

  uint32_t next = run.begin;
  for (uint32_t place = 0; place < kBlockCells; ++place) {
    if (accumulator.moments[place].count == 0) continue;
    tile.places[next] = static_cast<uint16_t>(place);
    tile.moments[next] = accumulator.moments[place];
    if (!tile.float_sums.empty()) tile.float_sums[next] = accumulator.float_sums[place];
    accumulator.moments[place] = {};
    accumulator.float_sums[place] = {};
    ++next;
  }
}

uint32_t CountCells(const SortedPoints& sorted, uint32_t number) {
  std::bitset<kBlockCells> occupied;
  for (uint32_t i = sorted.Begin(number); i < sorted.block_end[number]; ++i) {
    occupied.set(sorted.points[i].place);
  }
  return static_cast<uint32_t>(occupied.count());
}

CellKey CoarsenKey(const CellKey& key, int bits) {
  return {key.x >> bits, key.y >> bits, key.z >> bits};
}

// Along an axis, from the centre of a coarse cell to that of a fine one in it, in fine cells.
double StepsFromCentre(int32_t fine, int32_t coarse, int bits) {
  const double first = std::ldexp(static_cast<double>(coarse), bits);
  return static_cast<double>(fine) - first + 0.5 - std::ldexp(0.5, bits);
}

void AddBlock(const TileMoments& fine, const TileMoments::Block& block, int bits,
              std::vector<ndt::CellMoments>& places) {
  const double size = fine.cell_size_m;
  for (uint32_t i = block.begin; i < block.end; ++i) {
    const CellKey cell = CellAt(block.key, fine.places[i]);
    const CellKey in = CoarsenKey(cell, bits);
    const ndt::Vector3<double> from_centre = {size * StepsFromCentre(cell.x, in.x, bits),
                                              size * StepsFromCentre(cell.y, in.y, bits),
                                              size * StepsFromCentre(cell.z, in.z, bits)};
    ndt::AddMoments(ndt::RecenterMoments(fine.moments[i], from_centre), places[PlaceInBlock(in)]);
  }
}

}  // namespace

size_t TileMoments::MemoryBytes() const {
  return sizeof(*this) + blocks.capacity() * sizeof(Block) + places.capacity() * sizeof(uint16_t) +
         moments.capacity() * sizeof(ndt::CellMoments) + float_sums.capacity() * sizeof(FloatSum);
}

absl::StatusOr<TileMoments> BuildTileMoments(const PointCloud& cloud_map, double cell_size_m,
                                             const TileMomentsOptions& options) {
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

  const SortedPoints sorted = SortByBlock(cloud_map, bounds, cell_size_m, options.pool);
  std::vector<uint32_t> order(sorted.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return sorted.blocks[a] < sorted.blocks[b]; });
  tile.blocks.resize(order.size());
  const size_t parts = std::min(order.size(), PartsFor(options.pool));
  const auto for_each_block = [&](const auto& body) {
    ParallelFor(options.pool, parts,
                [&](size_t p) { body(order.size() * p / parts, order.size() * (p + 1) / parts); });
  };
  for_each_block([&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) tile.blocks[i].end = CountCells(sorted, order[i]);
  });
  uint32_t cells = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    TileMoments::Block& block = tile.blocks[i];
    block.key = sorted.blocks[order[i]];
    block.begin = cells;
    cells += block.end;
    block.end = cells;
  }
  tile.places.resize(cells);
  tile.moments.resize(cells);
  if (options.float_sums) tile.float_sums.resize(cells);
  for_each_block([&](size_t begin, size_t end) {
    const auto accumulator = std::make_unique<BlockAccumulator>();
    for (size_t i = begin; i < end; ++i) {
      FillBlock(sorted, order[i], tile.blocks[i], *accumulator, tile);
    }
  });
  return tile;
}

std::optional<int> CoarseningBits(double fine_cell_size_m, double coarse_cell_size_m) {
  int fine = 0;
  int coarse = 0;
  // Of a power of two the fraction is a half.
  if (std::frexp(fine_cell_size_m, &fine) != 0.5) return std::nullopt;
  if (std::frexp(coarse_cell_size_m, &coarse) != 0.5 || coarse <= fine) return std::nullopt;
  return coarse - fine;
}

TileMoments CoarsenMoments(const TileMoments& fine, int bits) {
  TileMoments tile;
  tile.cell_size_m = std::ldexp(fine.cell_size_m, bits);
  tile.origin = fine.origin;
  tile.points = fine.points;
  tile.not_finite = fine.not_finite;

  const auto block_of = [&](uint32_t fine_block) {
    return CoarsenKey(fine.blocks[fine_block].key, bits);
  };
  std::vector<uint32_t> order(fine.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return block_of(a) < block_of(b); });
  std::vector<ndt::CellMoments> places(kBlockCells);
  for (size_t i = 0; i < order.size();) {
    TileMoments::Block run;
    run.key = block_of(order[i]);
    run.begin = static_cast<uint32_t>(tile.cells());
    for (; i < order.size() && block_of(order[i]) == run.key; ++i) {
      AddBlock(fine, fine.blocks[order[i]], bits, places);
    }
    for (uint32_t place = 0; place < kBlockCells; ++place) {
      if (places[place].count == 0) continue;
      tile.places.push_back(static_cast<uint16_t>(place));
      tile.moments.push_back(places[place]);
      places[place] = {};
    }
    run.end = static_cast<uint32_t>(tile.cells());
    tile.blocks.push_back(run);
  }
  return tile;
}

}  // namespace voxloc
