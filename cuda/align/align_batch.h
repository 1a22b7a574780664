// SPDX-License-Identifier: Apache-2.0
//
// AlignBatch: runs the alignments of one call on the device, in one launch or slice by slice. A
// workspace of up to three slices, each with its own stream: one is packed or read while others
// run, and launches overlap. Used by one thread at a time.

#ifndef VOXLOC_CUDA_ALIGN_ALIGN_BATCH_H_
#define VOXLOC_CUDA_ALIGN_ALIGN_BATCH_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/align.h"
#include "cuda/align/align_slice.h"

namespace voxloc::cuda {

class AlignBatch {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AlignBatch>> Create(
      const AlignResources& resources, Priority priority);

  // Aligns the jobs and fills their results. After an error, which concerns the whole call, or an
  // exception (std::bad_alloc), work may still be queued.
  [[nodiscard]] absl::Status Run(absl::Span<const AlignEntry> entries);
  // Waits for all work that is queued.
  void Drain() noexcept;

 private:
  static constexpr size_t kSlices = 3;

  AlignBatch(const AlignResources& resources, Priority priority)
      : resources_(resources), priority_(priority) {}
  // Slices in turn, made when first needed.
  absl::StatusOr<AlignSlice*> Slice(size_t turn);
  // Waits for the background budget that the slice of this turn needs.
  void AcquireBudget(size_t turn);
  void Finish(AlignSlice& slice);
  // Waits for the slice, and meanwhile forwards cancellations of the jobs of all slices.
  void WaitUntilDone(const AlignSlice& slice) noexcept;

  const AlignResources resources_;
  const Priority priority_;
  std::vector<std::unique_ptr<AlignSlice>> slices_;  // up to kSlices
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_ALIGN_BATCH_H_
