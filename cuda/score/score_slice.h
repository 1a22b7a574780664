// SPDX-License-Identifier: Apache-2.0
//
// ScoreSlice: poses of one request that go to the device together. A workspace with a stream and
// memory of its own; used by one thread at a time. Between Launch and Finish the device works and
// the caller is free to prepare another slice.

#ifndef VOXLOC_CUDA_SCORE_SCORE_SLICE_H_
#define VOXLOC_CUDA_SCORE_SCORE_SLICE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/score.h"
#include "cuda/align/packed_scan.h"
#include "cuda/align/stage_terms.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/packed_upload.h"
#include "cuda/runtime/pinned_buffer.h"
#include "cuda/runtime/stream.h"
#include "cuda/score/score_kernel.h"

namespace voxloc::cuda {

class ScoreSlice {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ScoreSlice>> Create(
      std::shared_ptr<Device> device, Priority priority);

  // Poses of a scan of so many points that make a slice of about 2 ms.
  [[nodiscard]] static size_t PosesPerSlice(size_t points);

  // Queues the poses [begin, end) of the request. `points` are the scan's floats. Request and scan
  // must stay until Finish or Settle.
  [[nodiscard]] absl::Status Launch(const ScoreRequest& request, const StageTerms& terms,
                                    const PackedScan& scan, absl::Span<const float> points,
                                    size_t begin, size_t end);
  // Waits, and fills the poses' part of the result, whose arrays have their full size. Does nothing
  // where nothing was launched since the last time.
  [[nodiscard]] absl::Status Finish(ScoreResult& result);
  // Waits for what was queued, and forgets it.
  void Settle() noexcept;

 private:
  explicit ScoreSlice(std::shared_ptr<Device> device);

  std::shared_ptr<Device> device_;
  Stream stream_;
  const ScoreRequest* request_ = nullptr;
  const PackedScan* scan_ = nullptr;
  double largest_ = 0.0;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool launched_ = false;
  std::vector<DevicePose> poses_;

  PackedUpload upload_;  // points and poses
  DeviceBuffer<DeviceScore> device_scores_;
  PinnedBuffer scores_;
  DeviceBuffer<float> device_point_scores_;
  PinnedBuffer point_scores_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_SCORE_SCORE_SLICE_H_
