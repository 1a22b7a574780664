// SPDX-License-Identifier: Apache-2.0

#include "cuda/search/bound_slice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/engine/job_check.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

absl::StatusOr<std::shared_ptr<const DeviceBoundGrid>> DeviceBoundGrid::Upload(
    const std::shared_ptr<Device>& device, const BoundGrid& grid) {
  // Kernels count words in 32 bits.
  const size_t count = grid.words().size();
  if (count > size_t{std::numeric_limits<int32_t>::max()}) {
    return absl::ResourceExhaustedError(absl::StrCat("a search grid must have at most ",
                                                     std::numeric_limits<int32_t>::max(),
                                                     " words (got ", count, ")"));
  }
  VOXLOC_TRY(device->MakeCurrent());
  std::shared_ptr<DeviceBoundGrid> resident(new DeviceBoundGrid(device));
  resident->shape_ = grid.shape();
  for (size_t i = 0; i < grid.levels(); ++i) resident->levels_.push_back(grid.level(i));
  VOXLOC_TRY(resident->words_.ReserveExactly(count));
  VOXLOC_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(device, Priority::kLow));
  const absl::Status copied =
      stream.Upload(resident->words_.data(), grid.words().data(), count, "uploading a search grid");
  VOXLOC_TRY(stream.Synchronize());
  VOXLOC_TRY(copied);
  return resident;
}

namespace {

constexpr size_t kNodesPerSlice = size_t{1} << 21;

}  // namespace

absl::StatusOr<std::unique_ptr<BoundSlice>> BoundSlice::Create(std::shared_ptr<Device> device,
                                                               Priority priority) {
  VOXLOC_TRY(device->MakeCurrent());
  std::unique_ptr<BoundSlice> slice(new BoundSlice(device));
  VOXLOC_ASSIGN_OR_RETURN(slice->stream_, Stream::Create(std::move(device), priority));
  return slice;
}

absl::Status BoundSlice::Upload(const BoundRequest& request, BoundArguments& arguments) {
  // The next request of the same search has the same points.
  if (scan_ != request.scan) {
    scan_ = nullptr;
    scan_upload_.Add(request.scan->points, &points_);
    VOXLOC_TRY(scan_upload_.Send(stream_));
    scan_ = request.scan;
  }
  upload_.Add(request.allowed_z, &arguments.allowed_z);
  upload_.Add(request.blocks, &arguments.blocks);
  return upload_.Send(stream_);
}

absl::StatusOr<std::vector<BoundHit>> BoundSlice::Run(const BoundRequest& request,
                                                      const DeviceBoundGrid& grid) {
  std::vector<BoundHit> hits;
  if (request.blocks.empty()) return hits;
  VOXLOC_TRY(device_->MakeCurrent());
  const size_t nodes = request.blocks.size() * static_cast<size_t>(request.nodes_x) *
                       static_cast<size_t>(request.nodes_y);
  const size_t per_slice = std::min(nodes, kNodesPerSlice);
  const size_t entries = request.scan->points.size();
  size_t scratch_bytes = 0;
  VOXLOC_CUDA_TRY(*device_,
                  SelectScratchBytes(static_cast<uint32_t>(kNodesPerSlice), &scratch_bytes),
                  "sizing a selection");
  VOXLOC_TRY(entries_.ReserveForUse(entries));
  VOXLOC_TRY(found_.ReserveForUse(per_slice));
  VOXLOC_TRY(selected_.ReserveForUse(per_slice));
  VOXLOC_TRY(count_.Reserve(1));
  VOXLOC_TRY(scratch_.Reserve(scratch_bytes));

  BoundArguments arguments{};
  absl::Status status = Upload(request, arguments);
  const BoundGrid::Level& level = grid.level(request.level);
  arguments.level = {grid.words() + level.begin, level.shift, level.run,
                     static_cast<int32_t>(level.plane), grid.shape().words};
  arguments.entries = entries_.data();
  arguments.points_per_heading = static_cast<uint32_t>(request.scan->points_per_heading);
  arguments.nodes_x = static_cast<uint32_t>(request.nodes_x);
  arguments.nodes_y = static_cast<uint32_t>(request.nodes_y);
  arguments.min_hits = request.min_hits;
  arguments.found = found_.data();
  if (status.ok()) {
    status = LaunchFillEntries(*device_, arguments.level, points_, static_cast<uint32_t>(entries),
                               entries_.data(), stream_.get());
  }
  for (size_t begin = 0; begin < nodes && status.ok(); begin += per_slice) {
    status = CheckStopped(request.stop, "bounding");
    if (!status.ok()) break;
    arguments.first_node = static_cast<uint32_t>(begin);
    arguments.node_count = static_cast<uint32_t>(std::min(per_slice, nodes - begin));
    status = RunSlice(arguments, hits);
  }
  if (!status.ok()) {
    scan_ = nullptr;
    return status;
  }
  return hits;
}

absl::Status BoundSlice::RunSlice(const BoundArguments& arguments, std::vector<BoundHit>& hits) {
  VOXLOC_TRY(LaunchBound(*device_, arguments, stream_.get()));
  VOXLOC_CUDA_TRY(*device_,
                  SelectFound(scratch_.data(), scratch_.capacity(), found_.data(),
                              arguments.node_count, selected_.data(), count_.data(), stream_.get()),
                  "selecting nodes");
  VOXLOC_ASSIGN_OR_RETURN(const uint32_t* const fetched_count,
                          result_.Fetch(count_.data(), 1, stream_, "reading the number of nodes"));
  const uint32_t count = *fetched_count;
  if (count == 0) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t* const found,
                          result_.Fetch(selected_.data(), count, stream_, "reading nodes"));
  hits.reserve(hits.size() + count);
  for (uint32_t i = 0; i < count; ++i) {
    hits.push_back({static_cast<uint32_t>(found[i] >> 32), static_cast<uint16_t>(found[i] >> 16),
                    static_cast<uint16_t>(found[i])});
  }
  return absl::OkStatus();
}

}  // namespace voxloc::cuda
