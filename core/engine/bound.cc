// SPDX-License-Identifier: Apache-2.0

#include "core/engine/bound.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// The nearest and the farthest offsets of a heading's points.
struct OffsetBounds {
  int32_t min_x = 0;
  int32_t max_x = 0;
  int32_t min_y = 0;
  int32_t max_y = 0;
};

OffsetBounds OffsetBoundsOf(absl::Span<const BoundPoint> points) {
  OffsetBounds reach;
  for (const BoundPoint& point : points) {
    reach.min_x = std::min<int32_t>(reach.min_x, point.x);
    reach.max_x = std::max<int32_t>(reach.max_x, point.x);
    reach.min_y = std::min<int32_t>(reach.min_y, point.y);
    reach.max_y = std::max<int32_t>(reach.max_y, point.y);
  }
  return reach;
}

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
  for (size_t h = 0; h < headings; ++h) {
    reaches[h] = OffsetBoundsOf(absl::MakeConstSpan(scan.points)
                                    .subspan(h * scan.points_per_heading, scan.points_per_heading));
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

}  // namespace voxloc
