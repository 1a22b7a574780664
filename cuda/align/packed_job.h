// SPDX-License-Identifier: Apache-2.0
//
// PackedScan: the finite points of a cloud as kernels read them: base frame, metres, x, y and z one
// after another, each padded to whole chunks. The floats of several scans lie in one array.

#ifndef VOXLOC_CUDA_ALIGN_PACKED_JOB_H_
#define VOXLOC_CUDA_ALIGN_PACKED_JOB_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/engine/profile.h"
#include "core/engine/stage_points.h"
#include "core/ndt/search_rules.h"
#include "cuda/runtime/page_locked_pool.h"

namespace voxloc::cuda {

struct PackedScan {
  uint32_t points = 0;
  uint32_t stride = 0;
  std::vector<uint32_t> sources;  // places in the cloud; empty where it holds every point in order

  [[nodiscard]] size_t PlaceInCloud(size_t point) const {
    return sources.empty() ? point : sources[point];
  }
};

// Floats that a cloud of so many points takes: 3 strides.
[[nodiscard]] size_t PackedFloats(size_t cloud_points);

// Writes the cloud to `floats`, PackedFloats(cloud.size()) of them; padding is not written. The
// cloud has fewer than 2^32 points.
[[nodiscard]] PackedScan PackScan(const PointCloud& cloud, float* floats);

// The same for the points with these indices, which are finite, in this order.
[[nodiscard]] PackedScan PackScan(const PointCloud& cloud, absl::Span<const uint32_t> places,
                                  float* floats);

// A scan as the stages of a profile search with it.
struct StagedScan {
  PackedScan packed;
  // Of these points, from the first, those that each stage searches with.
  std::array<uint32_t, ndt::kMaxStages> stage_points{};
  double rotation_scale_m = 0.0;  // 0 where the profile does not need it
};

// Likewise. The profile must be valid. `chosen` is scratch memory, reused from scan to scan.
[[nodiscard]] StagedScan PackForStages(const PointCloud& scan_base, const Profile& profile,
                                       StagePoints& chosen, float* floats);

// The points of a pass's groups as places in its packed cloud, which has all of them; none without
// groups.
[[nodiscard]] std::vector<uint32_t> PlacesOf(const EvaluationPass& pass, const PackedScan& packed);

// CudaPackedJob: the part of an alignment job that needs no device: its inputs checked, the points
// of its stages chosen, its clouds in page-locked memory as kernels read them, and the groups of
// its passes as places in them. Immutable once made.
class CudaPackedJob : public PackedJob {
 public:
  // Null where Align would refuse the job for its scan or its passes. The profile must be valid.
  // Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<const CudaPackedJob> Make(const AlignJob& job,
                                                                 PageLockedPool& pool);

  // job.packed, if it was made for this scan, profile and passes; otherwise null.
  [[nodiscard]] static const CudaPackedJob* FromJob(const AlignJob& job);

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

  CudaPackedJob(const AlignJob& job, PageLockedPool& pool);
  [[nodiscard]] bool Matches(const AlignJob& job) const;
  [[nodiscard]] float* FloatsFrom(size_t first) const {
    return reinterpret_cast<float*>(floats_.data()) + first;
  }

  // The source. Owned, so that no other cloud can have its address.
  const std::shared_ptr<const PointCloud> source_scan_;
  const std::vector<double> point_voxels_m_;  // of the stages
  const bool needs_scan_scale_;
  StagedScan scan_;
  std::vector<Pass> passes_;
  PageLockedPool::Block floats_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_PACKED_JOB_H_
