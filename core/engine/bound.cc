// SPDX-License-Identifier: Apache-2.0

#include "core/engine/bound.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/engine/cpu/kernels.h"
#include "core/engine/job_check.h"

namespace voxloc {
namespace {

// One thread's in a row; also how often the stop token is looked at. Few enough that all threads
// have something to do, many enough that neighbours profit from each other.
constexpr size_t kMinNodesPerTask = 1024;
constexpr size_t kMaxNodesPerTask = size_t{1} << 16;
constexpr size_t kTasksWanted = 64;

// The nearest and the farthest offsets of a heading's points.
struct Reach {
  int32_t min_x = 0;
  int32_t max_x = 0;
  int32_t min_y = 0;
  int32_t max_y = 0;
};

Reach ReachOf(absl::Span<const BoundPoint> points) {
  Reach reach;
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
    return absl::InvalidArgumentError(absl::StrCat("points_per_heading is ",
                                                   scan == nullptr ? 0 : scan->points_per_heading,
                                                   "; allowed is 1 to ", kMaxBoundPoints));
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
  std::vector<Reach> reaches(headings);
  for (size_t h = 0; h < headings; ++h) {
    reaches[h] = ReachOf(absl::MakeConstSpan(scan.points)
                             .subspan(h * scan.points_per_heading, scan.points_per_heading));
  }
  for (const BoundBlock& block : request.blocks) {
    if (block.heading >= headings) {
      return absl::InvalidArgumentError(
          absl::StrCat("a block's heading is ", block.heading, "; there are ", headings));
    }
    const Reach& reach = reaches[block.heading];
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

// A heading's points as the kernel wants them.
void FillEntries(const BoundRequest& request, const BoundGrid& grid, uint32_t heading,
                 std::vector<cpu::BoundEntry>& entries) {
  const BoundGrid::Level& level = grid.level(request.level);
  const size_t count = request.scan->points_per_heading;
  const BoundPoint* const points = request.scan->points.data() + heading * count;
  const int32_t words = grid.shape().words;
  entries.clear();
  for (size_t i = 0; i < count; ++i) {
    const BoundPoint& point = points[i];
    // A point beyond both ends of every column meets nothing.
    if (words == 1 && std::abs(point.z) >= 64) continue;
    const int32_t remainder = point.x & ((1 << level.shift) - 1);
    const size_t plane = point.blur_class * static_cast<size_t>(words);
    entries.push_back({(int64_t{point.y} * (1 << level.shift) + remainder) * level.run +
                           (point.x >> level.shift) + static_cast<int64_t>(plane * level.plane),
                       point.z});
  }
}

// Whether blocks are squares of two by two, which the kernel takes at once.
bool InSquares(const BoundRequest& request) {
  return request.nodes_x == 2 && request.nodes_y % 2 == 0;
}

// The rows [begin, end) of the request's nodes, all blocks' rows counted one after another; an even
// number of them where they are taken in squares.
void BoundRows(const BoundRequest& request, const BoundGrid& grid, size_t begin, size_t end,
               std::vector<BoundHit>& hits) {
  const auto nodes_x = static_cast<size_t>(request.nodes_x);
  const auto nodes_y = static_cast<size_t>(request.nodes_y);
  const bool squares = InSquares(request);
  const BoundGrid::Level& level = grid.level(request.level);
  const cpu::Kernels& kernels = cpu::SelectKernels();
  std::vector<cpu::BoundEntry> entries;
  std::vector<uint32_t> found(std::max<size_t>(nodes_x, 4));
  uint32_t heading = 0;
  cpu::BoundRowArguments arguments{};
  arguments.plane = level.plane;
  arguments.words = grid.shape().words;
  arguments.allowed_z = request.allowed_z.data();
  arguments.min_hits = request.min_hits;
  arguments.found = found.data();
  if (squares) arguments.next_row = static_cast<size_t>(level.run) << (2 * level.shift);
  arguments.nodes = squares ? 4 : nodes_x;
  for (size_t row = begin; row < end; row += squares ? 2 : 1) {
    const BoundBlock& block = request.blocks[row / nodes_y];
    if (row == begin || block.heading != heading) {
      heading = block.heading;
      FillEntries(request, grid, heading, entries);
      arguments.entries = entries.data();
      arguments.entry_count = entries.size();
    }
    const int32_t y = block.y + (static_cast<int32_t>(row % nodes_y) << level.shift);
    arguments.first = grid.words().data() + level.begin + level.Place(block.x, y);
    if (!kernels.bound_row(arguments)) continue;
    for (size_t i = 0; i < arguments.nodes; ++i) {
      if (found[i] == 0) continue;
      hits.push_back({static_cast<uint32_t>(row * nodes_x + i),
                      static_cast<uint16_t>(found[i] >> 16),
                      static_cast<uint16_t>(found[i] & 0xffffU)});
    }
  }
}

}  // namespace

absl::Status CheckRequest(const BoundRequest& request) {
  if (request.grid == nullptr) return absl::InvalidArgumentError("the request has no grid");
  const BoundGridShape& shape = request.grid->shape();
  if (request.level >= shape.shifts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("level is ", request.level, "; the grid has ", shape.shifts.size()));
  }
  if (absl::Status status = CheckScan(request.scan.get(), shape.tolerances.size()); !status.ok()) {
    return status;
  }
  if (request.min_hits < 1) return absl::InvalidArgumentError("min_hits is 0; allowed is 1 and up");
  if (request.allowed_z.size() != static_cast<size_t>(shape.words)) {
    return absl::InvalidArgumentError(absl::StrCat("allowed_z has ", request.allowed_z.size(),
                                                   " words; a column has ", shape.words));
  }
  if (request.nodes_x < 1 || request.nodes_y < 1 || request.nodes_x > kMaxBoundColumns ||
      request.nodes_y > kMaxBoundColumns) {
    return absl::InvalidArgumentError(absl::StrCat("a block has ", request.nodes_x, " x ",
                                                   request.nodes_y, " nodes; allowed is 1 to ",
                                                   kMaxBoundColumns, " along either side"));
  }
  const size_t per_block =
      static_cast<size_t>(request.nodes_x) * static_cast<size_t>(request.nodes_y);
  if (request.blocks.size() > kMaxBoundNodes / per_block) {
    return absl::InvalidArgumentError(absl::StrCat(request.blocks.size(), " blocks of ", per_block,
                                                   " nodes; allowed are ", kMaxBoundNodes,
                                                   " nodes"));
  }
  return CheckBlocks(request);
}

absl::StatusOr<std::vector<BoundHit>> BoundOnHost(const BoundRequest& request,
                                                  ForEachIndex for_each) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  const auto* host = dynamic_cast<const HostBoundGrid*>(request.grid.get());
  if (host == nullptr) {
    return absl::FailedPreconditionError("the grid does not belong to this engine");
  }
  const size_t rows = request.blocks.size() * static_cast<size_t>(request.nodes_y);
  const auto nodes_x = static_cast<size_t>(request.nodes_x);
  const size_t nodes_per_task =
      std::clamp(rows * nodes_x / kTasksWanted, kMinNodesPerTask, kMaxNodesPerTask);
  // Even, for squares.
  const size_t rows_per_task = std::max<size_t>(1, nodes_per_task / nodes_x / 2) * 2;
  const size_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  std::vector<std::vector<BoundHit>> found(tasks);
  std::atomic<bool> out_of_memory{false};
  for_each(tasks, [&](size_t task) {
    if (out_of_memory || !CheckStopped(request.stop).ok()) return;
    try {
      const size_t begin = task * rows_per_task;
      BoundRows(request, host->grid(), begin, std::min(rows, begin + rows_per_task), found[task]);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (absl::Status status = CheckStopped(request.stop); !status.ok()) return status;
  std::vector<BoundHit> hits;
  size_t count = 0;
  for (const auto& part : found) count += part.size();
  hits.reserve(count);
  for (const auto& part : found) hits.insert(hits.end(), part.begin(), part.end());
  if (out_of_memory) return absl::ResourceExhaustedError("no memory for the nodes found");
  return hits;
}

absl::StatusOr<std::vector<BoundHit>> BoundOnHost(const BoundRequest& request) {
  return BoundOnHost(request, [](size_t count, absl::FunctionRef<void(size_t)> body) {
    for (size_t i = 0; i < count; ++i) body(i);
  });
}

}  // namespace voxloc
