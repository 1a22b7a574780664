// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/host_bound.h"

#include <algorithm>
#include <cstdlib>

#include "core/engine/cpu/kernels.h"
#include "core/engine/job_check.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Nodes per task; also the interval at which the stop token is polled. Small enough to keep all
// threads busy, large enough that neighbouring nodes profit from the caches.
constexpr size_t kMinNodesPerTask = 1024;
constexpr size_t kMaxNodesPerTask = size_t{1} << 16;
constexpr size_t kTargetTasks = 64;

// A heading's points as the kernel wants them.
void MakeEntries(const BoundRequest& request, const BoundGrid& grid, uint32_t heading,
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

// The rows [begin, end) of the request's nodes, all blocks' rows counted one after another; an even
// number of them where they are taken in squares.
void BoundRows(const BoundRequest& request, const BoundGrid& grid, size_t begin, size_t end,
               std::vector<BoundHit>& hits) {
  const auto nodes_x = static_cast<size_t>(request.nodes_x);
  const auto nodes_y = static_cast<size_t>(request.nodes_y);
  // Blocks that are squares of two by two, which the kernel takes at once.
  const bool squares = request.nodes_x == 2 && request.nodes_y % 2 == 0;
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
      MakeEntries(request, grid, heading, entries);
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

absl::StatusOr<std::vector<BoundHit>> BoundOnHost(const BoundRequest& request,
                                                  ForEachIndex for_each) {
  const auto* host = dynamic_cast<const HostBoundGrid*>(request.grid.get());
  if (host == nullptr) {
    return absl::FailedPreconditionError("the grid does not belong to this engine");
  }
  const size_t rows = request.blocks.size() * static_cast<size_t>(request.nodes_y);
  const auto nodes_x = static_cast<size_t>(request.nodes_x);
  const size_t nodes_per_task =
      std::clamp(rows * nodes_x / kTargetTasks, kMinNodesPerTask, kMaxNodesPerTask);
  // Even, for squares.
  const size_t rows_per_task = std::max<size_t>(1, nodes_per_task / nodes_x / 2) * 2;
  const size_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  std::vector<std::vector<BoundHit>> found(tasks);
  for_each(tasks, [&](size_t task) {
    if (!CheckStopped(request.stop, "bounding").ok()) return;
    const size_t begin = task * rows_per_task;
    BoundRows(request, host->grid(), begin, std::min(rows, begin + rows_per_task), found[task]);
  });
  VOXLOC_TRY(CheckStopped(request.stop, "bounding"));
  std::vector<BoundHit> hits;
  size_t count = 0;
  for (const auto& part : found) count += part.size();
  hits.reserve(count);
  for (const auto& part : found) hits.insert(hits.end(), part.begin(), part.end());
  return hits;
}

}  // namespace voxloc
