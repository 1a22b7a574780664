// SPDX-License-Identifier: Apache-2.0
//
// ScoreBatch: a call of scoring on the device, in slices of about 2 ms. A workspace of three
// slices, each with a stream of the call's priority and memory of its own: one is prepared or read
// while others run. Used by one thread at a time.

#ifndef VOXLOC_CUDA_SCORE_SCORE_BATCH_H_
#define VOXLOC_CUDA_SCORE_SCORE_BATCH_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/align.h"
#include "cuda/align/device_job.h"
#include "cuda/align/packed_job.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"
#include "cuda/score/score_kernel.h"

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
  void Drain() noexcept;

 private:
  static constexpr size_t kSlices = 3;

  // The poses [begin, end) of the request, which go to the device together.
  struct Slice {
    explicit Slice(const std::shared_ptr<Device>& device)
        : upload(device), scores(device), point_scores(device) {}

    Stream stream;
    size_t begin = 0;
    size_t end = 0;
    bool launched = false;  // and not finished
    std::vector<DevicePose> poses;
    PackedUpload upload;  // points and poses
    Output<DeviceScore> scores;
    Output<float> point_scores;
  };

  explicit ScoreBatch(const std::shared_ptr<Device>& device)
      : device_(device), slices_{Slice(device), Slice(device), Slice(device)} {}
  // Queues the slice's poses.
  absl::Status Launch(const ScoreRequest& request, const StageTerms& terms, Slice& slice);
  // Waits for a launched slice and fills its part of the result.
  absl::Status Finish(const ScoreRequest& request, const StageTerms& terms, Slice& slice,
                      ScoreResult& result) const;

  const std::shared_ptr<Device> device_;
  Slice slices_[kSlices];
  PackedScan scan_;
  std::vector<float> points_;
  Retention points_retention_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SCORE_SCORE_BATCH_H_
