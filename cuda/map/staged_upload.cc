// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/staged_upload.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kChunkBytes = size_t{512} << 10;
// A thread is worth its start when it has this much to copy: eight of them take 0.8 ms for the 12
// MB of a million points, three take 1.1 ms (docs/performance.md, "Builds").
constexpr size_t kBytesPerLane = 3 * kChunkBytes;
constexpr size_t kMaxLanes = 8;

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
  const size_t lanes = std::clamp<size_t>(bytes / kBytesPerLane, 1, kMaxLanes);
  while (lanes_.size() < lanes) VOXLOC_TRY(AddLane());

  std::vector<std::thread> helpers;
  helpers.reserve(lanes);
  // A thread must not end by an exception, nor this function while one of them runs.
  const auto run = [&](size_t lane) -> absl::Status {
    try {
      return Run(*lanes_[lane], chunks, lane, lanes, stream);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("");  // without a message it needs no memory
    }
  };
  size_t alone_from = lanes;  // lanes from here on have no thread of their own
  for (size_t i = 1; i < lanes; ++i) {
    try {
      helpers.emplace_back([this, &run, i] { lanes_[i]->status = run(i); });
    } catch (const std::system_error&) {
      alone_from = i;
      break;
    } catch (const std::bad_alloc&) {
      alone_from = i;
      break;
    }
  }
  absl::Status status = run(0);
  for (size_t i = alone_from; i < lanes && status.ok(); ++i) status = run(i);
  for (std::thread& helper : helpers) helper.join();
  for (size_t i = 1; i < alone_from && status.ok(); ++i) status = lanes_[i]->status;
  if (!status.ok() && status.message().empty()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no host memory to copy ", bytes, " bytes to the device"));
  }
  return status;
}

}  // namespace voxloc::cuda
