// SPDX-License-Identifier: Apache-2.0
//
// ScoreBatch: a call of scoring on the device, in slices of about 2 ms. A workspace of three
// slices, each with a stream of the call's priority. Used by one thread at a time.

#ifndef VOXLOC_CUDA_SCORE_SCORE_BATCH_H_
#define VOXLOC_CUDA_SCORE_SCORE_BATCH_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/score.h"
#include "cuda/align/packed_scan.h"
#include "cuda/align/stage_terms.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/retention.h"
#include "cuda/runtime/stream.h"
#include "cuda/score/score_slice.h"

namespace voxloc::cuda {

class ScoreBatch {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ScoreBatch>> Create(
      const std::shared_ptr<Device>& device, Priority priority);

  // Fills the result, whose arrays have their full size. The request must be a good one, `terms`
  // its stage's. Cancelled, DeadlineExceeded: the stop token, looked at between slices. Work may
  // still be queued after an error or an exception (std::bad_alloc).
  [[nodiscard]] absl::Status Run(const ScoreRequest& request, const StageTerms& terms,
                                 ScoreResult& result);
  // Waits for all work that is queued.
  void Settle() noexcept;

 private:
  static constexpr size_t kSlices = 3;

  ScoreBatch() = default;

  std::unique_ptr<ScoreSlice> slices_[kSlices];
  PackedScan scan_;
  std::vector<float> points_;
  Retention points_retention_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SCORE_SCORE_BATCH_H_
