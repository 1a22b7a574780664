// SPDX-License-Identifier: Apache-2.0

#include "tests/support/random_bounds.h"

#include <algorithm>

namespace voxloc {

std::vector<uint64_t> RandomColumns(const RandomBoundsOptions& options, RandomNumbers& random) {
  const BoundGridShape& shape = options.shape;
  std::vector<uint64_t> columns(static_cast<size_t>(shape.columns_x) *
                                static_cast<size_t>(shape.columns_y) *
                                static_cast<size_t>(shape.words));
  for (uint64_t& word : columns) {
    for (int bit = 0; bit < 64; ++bit) {
      if (random.Uniform(0.0, 1.0) < options.occupied_share) word |= uint64_t{1} << bit;
    }
  }
  return columns;
}

std::shared_ptr<const BoundScan> RandomScan(const RandomBoundsOptions& options,
                                            RandomNumbers& random) {
  auto scan = std::make_shared<BoundScan>();
  scan->points_per_heading = options.points;
  const auto along = [&](int32_t reach) {
    return static_cast<int16_t>(random.Index(2 * reach + 1) - reach);
  };
  for (size_t i = 0; i < options.points * options.headings; ++i) {
    BoundPoint point;
    point.x = along(options.reach);
    point.y = along(options.reach);
    // Some look beyond the top and the bottom of every column.
    point.z = along(40 + 64 * options.shape.words);
    const int classes = static_cast<int>(options.shape.tolerances.size());
    point.blur_class = static_cast<uint16_t>(random.Index(classes));
    if (i % 2 == 0) point.z = static_cast<int16_t>(point.z / 8);
    scan->points.push_back(point);
  }
  return scan;
}

bool OccupiedNear(const BoundGridShape& shape, const std::vector<uint64_t>& columns,
                  int32_t tolerance, int32_t x, int32_t y, int32_t z) {
  if (x < 0 || y < 0 || x >= shape.columns_x || y >= shape.columns_y) return false;
  // A point outside of the column hits nothing, even if the tolerance reaches into it.
  if (z < 0 || z >= 64 * shape.words) return false;
  const auto words = static_cast<size_t>(shape.words);
  const size_t column =
      (static_cast<size_t>(y) * static_cast<size_t>(shape.columns_x) + static_cast<size_t>(x)) *
      words;
  for (int32_t at = std::max(0, z - tolerance); at <= z + tolerance && at < 64 * shape.words;
       ++at) {
    if ((columns[column + static_cast<size_t>(at / 64)] >> (at % 64) & 1) != 0) return true;
  }
  return false;
}

uint32_t CountHits(const BoundGridShape& shape, const std::vector<uint64_t>& columns,
                   const BoundScan& scan, uint32_t heading, int32_t x, int32_t y, int32_t z) {
  uint32_t hits = 0;
  for (size_t i = 0; i < scan.points_per_heading; ++i) {
    const BoundPoint& point = scan.points[heading * scan.points_per_heading + i];
    hits += OccupiedNear(shape, columns, shape.tolerances[point.blur_class], x + point.x,
                         y + point.y, z + point.z)
                ? 1
                : 0;
  }
  return hits;
}

BoundRequest RandomRequest(const RandomBoundsOptions& options, size_t level, int32_t nodes_x,
                           int32_t nodes_y, size_t blocks, RandomNumbers& random) {
  const int shift = options.shape.shifts[level];
  const auto first = [&](int32_t columns, int32_t nodes) {
    const int32_t low = (options.reach >> shift) + 1;
    const int32_t high = ((columns - 1 - options.reach) >> shift) - nodes;
    return (low + random.Index(high - low + 1)) << shift;
  };
  BoundRequest request;
  request.level = level;
  request.nodes_x = nodes_x;
  request.nodes_y = nodes_y;
  for (size_t i = 0; i < blocks; ++i) {
    BoundBlock block;
    block.heading = static_cast<uint32_t>(random.Index(static_cast<int>(options.headings)));
    block.x = first(options.shape.columns_x, nodes_x);
    block.y = first(options.shape.columns_y, nodes_y);
    request.blocks.push_back(block);
  }
  request.allowed_z.assign(static_cast<size_t>(options.shape.words), ~uint64_t{0});
  return request;
}

}  // namespace voxloc
