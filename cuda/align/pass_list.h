// SPDX-License-Identifier: Apache-2.0
//
// PassList: the evaluation passes of the jobs of a slice: packed for the upload, and their sums
// read back. Used by one thread at a time, as the slice that it belongs to.

#ifndef VOXLOC_CUDA_ALIGN_PASS_LIST_H_
#define VOXLOC_CUDA_ALIGN_PASS_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/engine/evaluation_pass.h"
#include "cuda/align/align_kernel.h"
#include "cuda/align/device_job.h"
#include "cuda/align/packed_scan.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/output.h"
#include "cuda/runtime/packed_upload.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

class PassList {
 public:
  explicit PassList(const std::shared_ptr<Device>& device) : sums_(device) {}

  void Clear();
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(passes_.size()); }

  [[nodiscard]] uint32_t scan_of(uint32_t pass) const { return passes_[pass].scan; }

  // Takes in a pass over scan number `scan` of the slice; the scores of its points begin at
  // `point_scores_begin`, if they are wanted. `places` are those of its groups in the packed scan.
  void Add(const EvaluationPass& pass, uint32_t scan, absl::Span<const uint32_t> places,
           uint32_t point_scores_begin);

  // Memory for what comes back.
  [[nodiscard]] absl::Status Reserve() { return sums_.ReserveForUse(groups_); }
  // Sets the arguments once the upload is sent.
  void AddTo(PackedUpload& upload, AlignArguments& arguments);
  [[nodiscard]] absl::Status QueueDownload(const Stream& stream) const {
    return sums_.Download(stream, "reading sums of groups");
  }

  // Of pass number `pass`, once the stream is done. `point_scores` are those of the slice.
  void Fill(uint32_t pass, const PackedScan& packed, size_t cloud_points, const float* point_scores,
            PassResult& result) const;

 private:
  std::vector<DevicePass> passes_;
  std::vector<uint32_t> places_;
  std::vector<uint32_t> ends_;
  uint32_t groups_ = 0;
  Output<DeviceGroupSums> sums_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_PASS_LIST_H_
