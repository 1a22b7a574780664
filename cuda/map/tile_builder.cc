// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/tile_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cuda/cloud/scan_filter.h"
#include "cuda/runtime/device_sort.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kChunkBytes = size_t{512} << 10;
// Bytes from which one more thread pays off.
constexpr size_t kBytesPerLane = 3 * kChunkBytes;

std::vector<StagedUpload::Piece> CutIntoChunks(absl::Span<const StagedUpload::Piece> pieces) {
  std::vector<StagedUpload::Piece> chunks;
  for (const StagedUpload::Piece& piece : pieces) {
    for (size_t done = 0; done < piece.bytes; done += kChunkBytes) {
      chunks.push_back({static_cast<const std::byte*>(piece.from) + done,
                        static_cast<std::byte*>(piece.to) + done,
                        std::min(kChunkBytes, piece.bytes - done)});
    }
  }
  return chunks;
}

}  // namespace

absl::Status StagedUpload::AddLane() {
  auto lane = std::make_unique<Lane>(device_);
  VOXLOC_TRY(lane->memory.Reserve(2 * kChunkBytes));
  for (Event& sent : lane->sent) {
    VOXLOC_ASSIGN_OR_RETURN(sent, Event::Create(device_));
  }
  lanes_.push_back(std::move(lane));
  return absl::OkStatus();
}

absl::Status StagedUpload::Run(Lane& lane, absl::Span<const Piece> chunks, size_t first,
                               size_t step, const Stream& stream) {
  VOXLOC_TRY(device_->MakeCurrent());
  size_t turn = 0;
  for (size_t i = first; i < chunks.size(); i += step, turn ^= 1) {
    if (lane.used[turn]) VOXLOC_TRY(lane.sent[turn].Synchronize());
    std::byte* const staged = lane.memory.data() + turn * kChunkBytes;
    std::memcpy(staged, chunks[i].from, chunks[i].bytes);
    VOXLOC_TRY(stream.Upload(static_cast<std::byte*>(chunks[i].to), staged, chunks[i].bytes,
                             "copying to the device"));
    VOXLOC_TRY(lane.sent[turn].Record(stream));
    lane.used[turn] = true;
  }
  return absl::OkStatus();
}

absl::Status StagedUpload::Upload(absl::Span<const Piece> pieces, const Stream& stream) {
  const std::vector<Piece> chunks = CutIntoChunks(pieces);
  size_t bytes = 0;
  for (const Piece& chunk : chunks) bytes += chunk.bytes;
  const size_t lanes = std::clamp<size_t>(bytes / kBytesPerLane, 1, threads_.threads());
  while (lanes_.size() < lanes) VOXLOC_TRY(AddLane());

  std::vector<absl::Status> statuses(lanes);
  threads_.ParallelFor(lanes, [&](size_t lane) {
    statuses[lane] = Run(*lanes_[lane], chunks, lane, lanes, stream);
  });
  for (absl::Status& status : statuses) VOXLOC_TRY(std::move(status));
  return absl::OkStatus();
}

namespace {

// Work memory for more points is not kept.
constexpr size_t kMaxKeptPoints = size_t{1} << 21;
// Points are counted in 32 bits, and CUB takes some of its sizes as int.
constexpr size_t kMaxPoints = std::numeric_limits<int32_t>::max();
// A key of 64 bits has one for points that are not finite.
constexpr int kMaxKeyBits = 63;

// The error that BuildTileMoments would give for points with these bounds: it is asked about the
// farther of their corners.
absl::Status CheckReach(const PointCloud& corners, double cell_size_m) {
  PointCloud farther;
  farther.origin = corners.origin;
  const bool second =
      corners.Point(1).cwiseAbs().maxCoeff() > corners.Point(0).cwiseAbs().maxCoeff();
  const Eigen::Vector3f offset = corners.Offset(second ? 1 : 0);
  farther.PushBack(offset.x(), offset.y(), offset.z());
  return BuildTileMoments(farther, cell_size_m).status();
}

absl::StatusOr<CellKeyLayout> LayoutFor(const PointCloud& cloud, const Bounds& bounds,
                                        double cell_size_m) {
  CellKeyLayout layout{};
  layout.cell_size_m = cell_size_m;
  layout.inverse_cell_size = 1.0 / cell_size_m;
  const CellKey first = BlockOf(CellOf(bounds.min, cell_size_m));
  const CellKey last = BlockOf(CellOf(bounds.max, cell_size_m));
  const int32_t firsts[3] = {first.x, first.y, first.z};
  const int32_t extents[3] = {last.x - first.x, last.y - first.y, last.z - first.z};
  for (int axis = 0; axis < 3; ++axis) {
    layout.origin_m[axis] = cloud.origin[axis];
    layout.first_block[axis] = firsts[axis];
    layout.bits[axis] = BitsFor(static_cast<uint32_t>(extents[axis]));
  }
  if (layout.KeyBits() > kMaxKeyBits) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tile must span at most 2^", kMaxKeyBits - 3 * kBlockBits, " blocks of ",
                     kBlockSize, " cells of ", cell_size_m, " m (got ", int64_t{extents[0]} + 1,
                     " x ", int64_t{extents[1]} + 1, " x ", int64_t{extents[2]} + 1, ")"));
  }
  return layout;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TileBuilder>> TileBuilder::Create(std::shared_ptr<Device> device,
                                                                 ThreadPool& threads) {
  VOXLOC_TRY(device->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kLow));
  std::unique_ptr<TileBuilder> builder(new TileBuilder(device, threads, std::move(stream)));
  VOXLOC_TRY(builder->summary_.Reserve(1));
  VOXLOC_TRY(builder->counts_.Reserve(2));
  return builder;
}

absl::StatusOr<std::shared_ptr<const CudaTile>> TileBuilder::Build(
    const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) {
  if (cloud_map.size() > kMaxPoints) {
    return absl::ResourceExhaustedError(absl::StrCat("the tile must have at most ", kMaxPoints,
                                                     " points (got ", cloud_map.size(), ")"));
  }
  absl::StatusOr<std::shared_ptr<const CudaTile>> tile = Run(cloud_map, statistics);
  if (!tile.ok() || buffers_.head.capacity() > kMaxKeptPoints) {
    stream_.Drain();  // after an error work may still be queued
    buffers_ = Buffers{device_};
  }
  return tile;
}

absl::StatusOr<std::shared_ptr<const CudaTile>> TileBuilder::Run(
    const PointCloud& cloud, absl::Span<const CellStatistics> statistics) {
  std::map<double, bool> lattices;  // by cell size: whether float sums are wanted
  for (const CellStatistics& s : statistics) lattices[s.cell_size_m] |= s.float_index;
  const double finest_m = lattices.begin()->first;
  // Without points, the CPU's function returns the error.
  if (cloud.empty()) return BuildTileMoments(cloud, finest_m).status();

  VOXLOC_ASSIGN_OR_RETURN(const PointColumns points, UploadPoints(cloud));
  VOXLOC_ASSIGN_OR_RETURN(const PointSummary summary, Summarize(points));
  if (summary.finite == 0) return BuildTileMoments(cloud, finest_m).status();
  const PointCloud corners = CornersOf(summary, cloud.origin);
  const Bounds bounds = ComputeBounds(corners);

  std::vector<CellKeyLayout> layouts;
  for (const auto& [cell_size_m, with_float_sums] : lattices) {
    VOXLOC_TRY(CheckReach(corners, cell_size_m));
    VOXLOC_ASSIGN_OR_RETURN(const CellKeyLayout layout, LayoutFor(cloud, bounds, cell_size_m));
    layouts.push_back(layout);
  }
  std::vector<TileLattice> built;
  for (const CellKeyLayout& layout : layouts) {
    VOXLOC_ASSIGN_OR_RETURN(TileLattice lattice, BuildLattice(points, summary.finite, layout,
                                                              lattices[layout.cell_size_m]));
    built.push_back(std::move(lattice));
  }
  CudaTile::Points taken;
  taken.origin = cloud.origin;
  taken.finite = summary.finite;
  taken.not_finite = cloud.size() - summary.finite;
  return std::make_shared<const CudaTile>(device_, taken, std::move(built));
}

absl::StatusOr<PointColumns> TileBuilder::UploadPoints(const PointCloud& cloud) {
  const size_t points = cloud.size();
  VOXLOC_TRY(buffers_.columns.Reserve(3 * points));
  float* const columns = buffers_.columns.data();
  const size_t bytes = points * sizeof(float);
  const StagedUpload::Piece pieces[] = {{cloud.x.data(), columns, bytes},
                                        {cloud.y.data(), columns + points, bytes},
                                        {cloud.z.data(), columns + 2 * points, bytes}};
  VOXLOC_TRY(upload_.Upload(pieces, stream_));
  return PointColumns{columns, columns + points, columns + 2 * points,
                      static_cast<uint32_t>(points)};
}

absl::StatusOr<PointSummary> TileBuilder::Summarize(const PointColumns& points) {
  VOXLOC_CUDA_TRY(*device_, SummarizePoints(points, summary_.data(), stream_.get()),
                  "looking through a tile's points");
  VOXLOC_ASSIGN_OR_RETURN(
      const PointSummary* const summary,
      host_.Fetch(summary_.data(), 1, stream_, "fetching the counts of a tile"));
  return *summary;
}

absl::StatusOr<TileLattice> TileBuilder::BuildLattice(const PointColumns& points, uint32_t finite,
                                                      const CellKeyLayout& layout,
                                                      bool with_float_sums) {
  const size_t count = points.count;
  const bool wide_keys = layout.KeyBits() + (finite == points.count ? 0 : 1) > 32;
  size_t scratch_bytes = 0;
  VOXLOC_CUDA_TRY(*device_, ScratchBytes(points.count, &scratch_bytes),
                  "sizing the sort of a tile");
  VOXLOC_TRY(buffers_.scratch.Reserve(scratch_bytes));
  // Both arrays of 32-bit keys are padded to whole 64-bit words.
  const size_t key_words = wide_keys ? count : count / 2 + 1;
  VOXLOC_TRY(buffers_.keys.Reserve(2 * key_words));
  VOXLOC_TRY(buffers_.order.Reserve(2 * count));
  VOXLOC_TRY(buffers_.head.Reserve(count));
  VOXLOC_TRY(buffers_.begin.Reserve(2 * count));
  const CellArrays arrays = {wide_keys,
                             {buffers_.keys.data(), buffers_.keys.data() + key_words},
                             {buffers_.order.data(), buffers_.order.data() + count},
                             buffers_.head.data(),
                             buffers_.begin.data(),
                             buffers_.begin.data() + count,
                             counts_.data()};
  SortedPoints sorted{};
  VOXLOC_CUDA_TRY(*device_,
                  SortIntoCells(points, finite, layout, arrays,
                                {buffers_.scratch.data(), scratch_bytes}, &sorted, stream_.get()),
                  "sorting a tile's points");
  VOXLOC_ASSIGN_OR_RETURN(const uint32_t* const counts,
                          host_.Fetch(counts_.data(), 2, stream_, "counting a tile's cells"));
  sorted.cells = counts[0];
  const uint32_t blocks = counts[1];

  TileLattice lattice(device_);
  const DrainAtExit drain(stream_);  // its memory may go with this scope
  lattice.cell_size_m = layout.cell_size_m;
  lattice.cells = sorted.cells;
  VOXLOC_TRY(lattice.places.ReserveExactly(sorted.cells));
  VOXLOC_TRY(lattice.moments.ReserveExactly(sorted.cells));
  if (with_float_sums) VOXLOC_TRY(lattice.float_sums.ReserveExactly(sorted.cells));
  VOXLOC_TRY(buffers_.blocks.Reserve(blocks));
  VOXLOC_CUDA_TRY(*device_,
                  SumMoments(sorted, lattice.places.data(), lattice.moments.data(), stream_.get()),
                  "summing a tile's cells");
  if (with_float_sums) {
    VOXLOC_CUDA_TRY(*device_, SumFloats(sorted, lattice.float_sums.data(), stream_.get()),
                    "summing a tile's cells in float32");
  }
  VOXLOC_CUDA_TRY(
      *device_,
      ListBlocks(sorted, arrays.block_begin, blocks, buffers_.blocks.data(), stream_.get()),
      "listing a tile's blocks");
  VOXLOC_ASSIGN_OR_RETURN(
      const TileMoments::Block* const fetched,
      host_.Fetch(buffers_.blocks.data(), blocks, stream_, "fetching a tile's blocks"));
  lattice.blocks.assign(fetched, fetched + blocks);
  for (const TileMoments::Block& block : lattice.blocks) lattice.box.Include(block.key);
  return lattice;
}

}  // namespace voxloc::cuda
