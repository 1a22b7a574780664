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
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/align.h"

namespace voxloc {

struct BoundGridShape {
  int32_t columns_x = 0;  // a multiple of the largest window
  int32_t columns_y = 0;
  int32_t words = 1;            // of 64 voxels, in a column
  std::vector<int> shifts;      // of the levels: ascending, the first is 0, up to kMaxBoundShift
  std::vector<int> tolerances;  // of the classes: ascending, the first is 0, below 64

  // Of all levels and classes together.
  [[nodiscard]] size_t Words() const;
};

constexpr int kMaxBoundShift = 6;
constexpr int32_t kMaxBoundColumns = 1 << 15;  // along either side
constexpr int32_t kMaxBoundWords = 64;

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateBoundGridShape(const BoundGridShape& shape);

// BoundGrid: which voxels of a map are occupied, for searches of the whole map by branch and bound.
//
// Voxels are bits of columns: bit b of word w of a column is the voxel at z level 64 w + b, so that
// one look-up and a shift answer for every height at once. Level l is blurred over windows of
// 2^shift columns along x and y: its column (x, y) is what the columns [x, x + window) x
// [y, y + window) of level 0 have together. A count of hits there is an upper bound for the counts
// at every place in the window. Blur class c reaches tolerances[c] voxels up and down as well.
//
// Immutable after construction; any number of threads may read one.
class BoundGrid {
 public:
  // One level, in words from the beginning of words(). Each row is stored by x modulo the window:
  // columns that are one window apart are adjacent, as the nodes of a search are.
  struct Level {
    int shift = 0;
    size_t begin = 0;
    int32_t run = 0;   // columns of a row with the same remainder
    size_t plane = 0;  // words of one class and one word of the columns

    // Of a column within a plane.
    [[nodiscard]] size_t Place(int32_t x, int32_t y) const {
      const int32_t remainder = x & ((1 << shift) - 1);
      return ((static_cast<size_t>(y) << shift) + static_cast<size_t>(remainder)) *
                 static_cast<size_t>(run) +
             static_cast<size_t>(x >> shift);
    }
  };

  // `columns`: word w of column (x, y) is at (y * columns_x + x) * words + w. InvalidArgument: the
  // shape, or another number of words. Beyond words() lie kPadding zeros, which may be read.
  [[nodiscard]] static absl::StatusOr<BoundGrid> Make(BoundGridShape shape,
                                                      absl::Span<const uint64_t> columns);
  static constexpr size_t kPadding = 8;

  [[nodiscard]] const BoundGridShape& shape() const { return shape_; }
  [[nodiscard]] const Level& level(size_t i) const { return levels_[i]; }
  [[nodiscard]] size_t levels() const { return levels_.size(); }
  [[nodiscard]] absl::Span<const uint64_t> words() const {
    return absl::MakeConstSpan(words_).first(words_.size() - kPadding);
  }
  [[nodiscard]] size_t MemoryBytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  explicit BoundGrid(BoundGridShape shape);
  void FillClass(size_t blur_class, absl::Span<const uint64_t> columns);

  BoundGridShape shape_;
  std::vector<Level> levels_;
  std::vector<uint64_t> words_;
};

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
