// SPDX-License-Identifier: Apache-2.0
//
// AlignBatch: a call of alignments on the device, in one launch or slice by slice. A workspace of
// up to three slices, each with a stream of the call's priority: one is packed or read while others
// run, and the end of one overlaps the beginning of the next. Used by one thread at a time.

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

  // Aligns the jobs and answers each in its result. An error is the whole call's; work may then
  // still be queued, as after an exception (std::bad_alloc).
  [[nodiscard]] absl::Status Run(absl::Span<const AlignEntry> entries);
  // Waits for all work that is queued.
  void Drain() noexcept;

 private:
  static constexpr size_t kSlices = 3;

  AlignBatch(const AlignResources& resources, Priority priority)
      : resources_(resources), priority_(priority) {}
  // Slices in turn, made when first needed.
  absl::StatusOr<AlignSlice*> Slice(size_t turn);
  // Waits for room for the slice of this turn.
  void TakeRoom(size_t turn);
  void Finish(AlignSlice& slice);
  // Until the slice is done, passes on which jobs of all slices are cancelled.
  void Await(const AlignSlice& slice) noexcept;

  const AlignResources resources_;
  const Priority priority_;
  std::vector<std::unique_ptr<AlignSlice>> slices_;  // up to kSlices
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_ALIGN_BATCH_H_
