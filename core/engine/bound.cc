// SPDX-License-Identifier: Apache-2.0

#include "core/engine/bound.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

// The nearest and the farthest offsets of a heading's points, or 0.
struct OffsetBounds {
  int32_t min_x = 0;
  int32_t max_x = 0;
  int32_t min_y = 0;
  int32_t max_y = 0;
};

absl::Status CheckScan(const BoundScan* scan, size_t classes) {
  if (scan == nullptr || scan->points_per_heading < 1 ||
      scan->points_per_heading > kMaxBoundPoints) {
    return absl::InvalidArgumentError(
        absl::StrCat("points_per_heading must be from 1 to ", kMaxBoundPoints, " (got ",
                     scan == nullptr ? 0 : scan->points_per_heading, ")"));
  }
  if (scan->points.empty() || scan->points.size() % scan->points_per_heading != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(scan->points.size(), " points are not a multiple of points_per_heading, ",
                     scan->points_per_heading));
  }
  for (const BoundPoint& point : scan->points) {
    if (point.blur_class >= classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a point's blur_class is ", point.blur_class, "; the grid has ", classes));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBlocks(const BoundRequest& request) {
  const BoundGridShape& shape = request.grid->shape();
  const BoundScan& scan = *request.scan;
  const size_t headings = scan.points.size() / scan.points_per_heading;
  const int shift = shape.shifts[request.level];
  const int32_t window = 1 << shift;
  std::vector<OffsetBounds> reaches(headings);
  for (size_t i = 0; i < scan.points.size(); ++i) {
    const BoundPoint& point = scan.points[i];
    OffsetBounds& reach = reaches[i / scan.points_per_heading];
    reach.min_x = std::min<int32_t>(reach.min_x, point.x);
    reach.max_x = std::max<int32_t>(reach.max_x, point.x);
    reach.min_y = std::min<int32_t>(reach.min_y, point.y);
    reach.max_y = std::max<int32_t>(reach.max_y, point.y);
  }
  for (const BoundBlock& block : request.blocks) {
    if (block.heading >= headings) {
      return absl::InvalidArgumentError(
          absl::StrCat("a block's heading is ", block.heading, "; there are ", headings));
    }
    const OffsetBounds& reach = reaches[block.heading];
    const int64_t last_x = int64_t{block.x} + (int64_t{request.nodes_x} - 1) * window;
    const int64_t last_y = int64_t{block.y} + (int64_t{request.nodes_y} - 1) * window;
    if (block.x % window != 0 || block.y % window != 0 || block.x + reach.min_x < 0 ||
        block.y + reach.min_y < 0 || last_x + reach.max_x >= shape.columns_x ||
        last_y + reach.max_y >= shape.columns_y) {
      return absl::InvalidArgumentError(
          absl::StrCat("a block of ", request.nodes_x, " x ", request.nodes_y, " nodes of ", window,
                       " columns at (", block.x, ", ", block.y,
                       ") does not keep its points within ", shape.columns_x, " x ",
                       shape.columns_y, " columns, or is not at a multiple of ", window));
    }
  }
  return absl::OkStatus();
}

bool AscendingFromZero(const std::vector<int>& values, int largest) {
  return !values.empty() && values.front() == 0 && values.back() <= largest &&
         std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

size_t PlaneWords(const BoundGridShape& shape) {
  return static_cast<size_t>(shape.columns_x) * static_cast<size_t>(shape.columns_y);
}

// The column and what is up to `tolerance` above and below it.
void BlurUpAndDown(const uint64_t* column, int32_t words, int tolerance, uint64_t* blurred) {
  for (int32_t w = 0; w < words; ++w) {
    const uint64_t below = w > 0 ? column[w - 1] : 0;
    const uint64_t above = w + 1 < words ? column[w + 1] : 0;
    uint64_t all = column[w];
    for (int t = 1; t <= tolerance; ++t) {
      all |= column[w] << t | column[w] >> t | below >> (64 - t) | above << (64 - t);
    }
    blurred[w] = all;
  }
}

// Ors every column with the one `distance` further along x.
void BlurAlongX(int32_t columns_x, size_t distance, std::vector<uint64_t>& plane) {
  const auto row_words = static_cast<size_t>(columns_x);
  if (distance >= row_words) return;
  for (size_t row = 0; row < plane.size(); row += row_words) {
    uint64_t* const column = plane.data() + row;
    for (size_t x = 0; x + distance < row_words; ++x) column[x] |= column[x + distance];
  }
}

void BlurAlongY(int32_t columns_x, size_t distance, std::vector<uint64_t>& plane) {
  const size_t apart = distance * static_cast<size_t>(columns_x);
  for (size_t i = 0; i + apart < plane.size(); ++i) plane[i] |= plane[i + apart];
}

}  // namespace

absl::Status CheckRequest(const BoundRequest& request) {
  if (request.grid == nullptr) return absl::InvalidArgumentError("the request has no grid");
  const BoundGridShape& shape = request.grid->shape();
  if (request.level >= shape.shifts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("level is ", request.level, "; the grid has ", shape.shifts.size()));
  }
  VOXLOC_TRY(CheckScan(request.scan.get(), shape.tolerances.size()));
  if (request.min_hits < 1)
    return absl::InvalidArgumentError("min_hits must be at least 1 (got 0)");
  if (request.allowed_z.size() != static_cast<size_t>(shape.words)) {
    return absl::InvalidArgumentError(absl::StrCat("allowed_z has ", request.allowed_z.size(),
                                                   " words; a column has ", shape.words));
  }
  if (request.nodes_x < 1 || request.nodes_y < 1 || request.nodes_x > kMaxBoundColumns ||
      request.nodes_y > kMaxBoundColumns) {
    return absl::InvalidArgumentError(absl::StrCat("a block must have from 1 to ", kMaxBoundColumns,
                                                   " nodes along each side (got ", request.nodes_x,
                                                   " x ", request.nodes_y, ")"));
  }
  const size_t per_block =
      static_cast<size_t>(request.nodes_x) * static_cast<size_t>(request.nodes_y);
  if (request.blocks.size() > kMaxBoundNodes / per_block) {
    return absl::InvalidArgumentError(absl::StrCat("blocks must have at most ", kMaxBoundNodes,
                                                   " nodes in all (got ", request.blocks.size(),
                                                   " blocks of ", per_block, ")"));
  }
  return CheckBlocks(request);
}

size_t BoundGridShape::Words() const {
  return PlaneWords(*this) * static_cast<size_t>(words) * shifts.size() * tolerances.size();
}

absl::Status ValidateBoundGridShape(const BoundGridShape& shape) {
  const auto append = [](std::string* out, int value) { absl::StrAppend(out, value); };
  if (!AscendingFromZero(shape.shifts, kMaxBoundShift)) {
    return absl::InvalidArgumentError(
        absl::StrCat("shifts are ", absl::StrJoin(shape.shifts, ", ", append),
                     "; they must ascend from 0 and stay within ", kMaxBoundShift));
  }
  if (!AscendingFromZero(shape.tolerances, 63)) {
    return absl::InvalidArgumentError(absl::StrCat("tolerances are ",
                                                   absl::StrJoin(shape.tolerances, ", ", append),
                                                   "; they must ascend from 0 and stay within 63"));
  }
  const int32_t window = 1 << shape.shifts.back();
  if (shape.columns_x < window || shape.columns_x > kMaxBoundColumns ||
      shape.columns_x % window != 0) {
    return absl::InvalidArgumentError(absl::StrCat("columns_x must be a multiple of ", window,
                                                   " and at most ", kMaxBoundColumns, " (got ",
                                                   shape.columns_x, ")"));
  }
  return CheckRanges({{"columns_y", shape.columns_y, FromTo(1, kMaxBoundColumns)},
                      {"words", shape.words, FromTo(1, kMaxBoundWords)}});
}

BoundGrid::BoundGrid(BoundGridShape shape) : shape_(std::move(shape)) {
  const size_t plane = PlaneWords(shape_);
  size_t begin = 0;
  for (const int shift : shape_.shifts) {
    levels_.push_back({shift, begin, shape_.columns_x >> shift, plane});
    begin += plane * static_cast<size_t>(shape_.words) * shape_.tolerances.size();
  }
  words_.assign(begin + kPadding, 0);
}

absl::StatusOr<BoundGrid> BoundGrid::Make(BoundGridShape shape,
                                          absl::Span<const uint64_t> columns) {
  VOXLOC_TRY(ValidateBoundGridShape(shape));
  const size_t expected = PlaneWords(shape) * static_cast<size_t>(shape.words);
  if (columns.size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat("the grid's columns are ", columns.size(),
                                                   " words; its shape asks for ", expected));
  }
  BoundGrid grid(std::move(shape));
  for (size_t c = 0; c < grid.shape_.tolerances.size(); ++c) grid.FillClass(c, columns);
  return grid;
}

void BoundGrid::FillClass(size_t blur_class, absl::Span<const uint64_t> columns) {
  const auto words = static_cast<size_t>(shape_.words);
  const size_t plane_words = PlaneWords(shape_);
  std::vector<uint64_t> blurred(columns.size());
  for (size_t i = 0; i < plane_words; ++i) {
    BlurUpAndDown(columns.data() + i * words, shape_.words, shape_.tolerances[blur_class],
                  blurred.data() + i * words);
  }
  std::vector<uint64_t> plane(plane_words);
  for (size_t w = 0; w < words; ++w) {
    for (size_t i = 0; i < plane_words; ++i) plane[i] = blurred[i * words + w];
    int shift = 0;
    for (const Level& level : levels_) {
      for (; shift < level.shift; ++shift) {
        BlurAlongX(shape_.columns_x, size_t{1} << shift, plane);
        BlurAlongY(shape_.columns_x, size_t{1} << shift, plane);
      }
      uint64_t* const out = words_.data() + level.begin + (blur_class * words + w) * level.plane;
      const uint64_t* in = plane.data();
      for (int32_t y = 0; y < shape_.columns_y; ++y) {
        for (int32_t x = 0; x < shape_.columns_x; ++x) out[level.Place(x, y)] = *in++;
      }
    }
  }
}

}  // namespace voxloc
