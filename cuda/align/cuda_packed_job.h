// SPDX-License-Identifier: Apache-2.0
//
// CudaPackedJob: the part of an alignment job that needs no device: its inputs checked, the points
// of its stages chosen, its clouds in page-locked memory as kernels read them, and the groups of
// its passes as places in them. Immutable once made.

#ifndef VOXLOC_CUDA_ALIGN_CUDA_PACKED_JOB_H_
#define VOXLOC_CUDA_ALIGN_CUDA_PACKED_JOB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/align.h"
#include "cuda/align/packed_scan.h"
#include "cuda/runtime/page_locked_pool.h"

namespace voxloc::cuda {

class CudaPackedJob : public PackedJob {
 public:
  // Null where Align would refuse the job for its scan or its passes. The profile must be valid.
  // Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<const CudaPackedJob> Make(const AlignJob& job,
                                                                 PageLockedPool& pool);

  // The job's own packing, where it has one that is still of it; otherwise null.
  [[nodiscard]] static const CudaPackedJob* Of(const AlignJob& job);

  [[nodiscard]] const StagedScan& scan() const { return scan_; }
  // PackedFloats of it.
  [[nodiscard]] absl::Span<const float> scan_floats() const;
  // Of a pass with a cloud of its own.
  [[nodiscard]] const PackedScan& cloud(size_t pass) const { return passes_[pass].cloud; }
  [[nodiscard]] absl::Span<const float> cloud_floats(size_t pass) const;
  // Of its groups.
  [[nodiscard]] const std::vector<uint32_t>& places(size_t pass) const {
    return passes_[pass].places;
  }
  // Whether devices can read the floats where they are.
  [[nodiscard]] bool page_locked() const { return floats_.page_locked(); }

 private:
  struct Pass {
    EvaluationPass of;
    PackedScan cloud;
    size_t first_float = 0;
    std::vector<uint32_t> places;
  };

  explicit CudaPackedJob(const AlignJob& job);
  void Fill(const AlignJob& job, PageLockedPool& pool);
  [[nodiscard]] bool IsOf(const AlignJob& job) const;
  [[nodiscard]] float* FloatsFrom(size_t first) const {
    return reinterpret_cast<float*>(floats_.data()) + first;
  }

  // What it was made of. Held, so that nothing else can be at their addresses.
  const std::shared_ptr<const PointCloud> of_scan_;
  const std::vector<double> point_voxels_m_;  // of the stages
  const bool needs_scan_scale_;
  StagedScan scan_;
  std::vector<Pass> passes_;
  PageLockedPool::Block floats_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_CUDA_PACKED_JOB_H_
