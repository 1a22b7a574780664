// SPDX-License-Identifier: Apache-2.0
//
// Bounding: an upper bound of the number of scan points that hit the map, over all poses of a node.
// A node is a window of columns, all heights, at one heading. Global searches are built on it.
//
// The answers are integers, the same on every engine.

#ifndef VOXLOC_CORE_ENGINE_BOUND_H_
#define VOXLOC_CORE_ENGINE_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/engine/align.h"
#include "core/engine/bound_grid.h"
#include "core/engine/work_class.h"

namespace voxloc {

// What an engine keeps of a grid. Immutable; the last owner frees it.
class ResidentBoundGrid {
 public:
  virtual ~ResidentBoundGrid() = default;
  [[nodiscard]] virtual const BoundGridShape& shape() const = 0;
  // Host and device memory together. If several devices each hold a copy, that of one.
  [[nodiscard]] virtual size_t MemoryBytes() const = 0;
};

// Voxels from the sensor's to the point's, at one heading.
struct BoundPoint {
  int16_t x = 0;
  int16_t y = 0;
  int16_t z = 0;
  uint16_t blur_class = 0;
};

// A scan at every heading of a search.
struct BoundScan {
  size_t points_per_heading = 0;   // 1 to kMaxBoundPoints
  std::vector<BoundPoint> points;  // those of heading h begin at h * points_per_heading
};
constexpr size_t kMaxBoundPoints = 255;

// Nodes side by side at one heading. The first covers the columns from (x, y) on, multiples of the
// level's window.
struct BoundBlock {
  uint32_t heading = 0;
  int32_t x = 0;
  int32_t y = 0;
};

struct BoundRequest {
  std::shared_ptr<const ResidentBoundGrid> grid;
  std::shared_ptr<const BoundScan> scan;
  size_t level = 0;
  // Every block has nodes_x times nodes_y nodes. At each node all points must lie in the grid.
  std::vector<BoundBlock> blocks;
  int32_t nodes_x = 1;
  int32_t nodes_y = 1;
  // Heights that a sensor may be at: bit b of word w allows z level 64 w + b. As many words as a
  // column has.
  std::vector<uint64_t> allowed_z;
  uint32_t min_hits = 1;  // at least 1; nodes with fewer are left out
  WorkClass work_class = WorkClass::kSearching;
  StopToken stop;
};

struct BoundHit {
  uint32_t node = 0;  // (block * nodes_y + its row) * nodes_x + its place in the row
  uint16_t hits = 0;
  uint16_t z = 0;  // the lowest z level with so many hits
};

// Most nodes of one request.
constexpr size_t kMaxBoundNodes = size_t{1} << 31;

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status CheckRequest(const BoundRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_BOUND_H_
