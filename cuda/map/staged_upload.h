// SPDX-License-Identifier: Apache-2.0
//
// StagedUpload: copies ordinary host memory to the device through page-locked chunks, so that the
// processor's copy of one chunk runs beside the transfer of another. The driver's own staging of
// pageable memory does the same with one thread; for tens of megabytes one thread's copying is what
// takes the time, so several share it here. Used by one caller at a time.

#ifndef VOXLOC_CUDA_MAP_STAGED_UPLOAD_H_
#define VOXLOC_CUDA_MAP_STAGED_UPLOAD_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/pinned_buffer.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

class StagedUpload {
 public:
  struct Piece {
    const void* from;  // host
    void* to;          // device
    size_t bytes;
  };

  explicit StagedUpload(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Queues the copies on `stream`. The pieces' host memory has been read when this returns; the
  // stream must be idle before this is destroyed.
  [[nodiscard]] absl::Status Upload(absl::Span<const Piece> pieces, const Stream& stream);

 private:
  // Two chunks of page-locked memory, filled in turn.
  struct Lane {
    explicit Lane(const std::shared_ptr<Device>& device) : memory(device) {}

    PinnedBuffer memory;
    Event sent[2];
    bool used[2] = {false, false};
    absl::Status status;
  };
  absl::Status AddLane();
  absl::Status Run(Lane& lane, absl::Span<const Piece> chunks, size_t first, size_t step,
                   const Stream& stream);

  const std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_STAGED_UPLOAD_H_
