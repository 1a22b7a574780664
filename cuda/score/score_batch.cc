// SPDX-License-Identifier: Apache-2.0

#include "cuda/score/score_batch.h"

#include <algorithm>
#include <utility>

#include "core/engine/job_check.h"

namespace voxloc::cuda {

absl::StatusOr<std::unique_ptr<ScoreBatch>> ScoreBatch::Create(
    const std::shared_ptr<Device>& device, Priority priority) {
  std::unique_ptr<ScoreBatch> batch(new ScoreBatch());
  for (std::unique_ptr<ScoreSlice>& slice : batch->slices_) {
    VOXLOC_ASSIGN_OR_RETURN(slice, ScoreSlice::Create(device, priority));
  }
  return batch;
}

absl::Status ScoreBatch::Run(const ScoreRequest& request, const StageTerms& terms,
                             ScoreResult& result) {
  const size_t floats = PackedFloats(request.scan->size());
  const size_t kept = points_retention_.Fit(points_.size(), floats, sizeof(float));
  if (kept != points_.size()) points_ = std::vector<float>(kept);
  scan_ = PackScan(*request.scan, points_.data());

  const size_t poses = request.map_T_base.size();
  const size_t per_slice = ScoreSlice::PosesPerSlice(scan_.points);
  const absl::Span<const float> points(points_.data(), floats);
  size_t turn = 0;
  for (size_t begin = 0; begin < poses; begin += per_slice, ++turn) {
    ScoreSlice& slice = *slices_[turn % kSlices];
    VOXLOC_TRY(slice.Finish(result));
    VOXLOC_TRY(CheckStopped(request.stop, "scoring"));
    VOXLOC_TRY(
        slice.Launch(request, terms, scan_, points, begin, std::min(poses, begin + per_slice)));
  }
  for (size_t i = 0; i < kSlices; ++i, ++turn) {
    VOXLOC_TRY(slices_[turn % kSlices]->Finish(result));
  }
  return absl::OkStatus();
}

void ScoreBatch::Settle() noexcept {
  for (const std::unique_ptr<ScoreSlice>& slice : slices_) slice->Settle();
}

}  // namespace voxloc::cuda
