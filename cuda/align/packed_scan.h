// SPDX-License-Identifier: Apache-2.0
//
// PackedScan: the finite points of a cloud as kernels read them: base frame, metres, x, y and z one
// after another, each padded to whole chunks. The floats of several scans lie in one array.

#ifndef VOXLOC_CUDA_ALIGN_PACKED_SCAN_H_
#define VOXLOC_CUDA_ALIGN_PACKED_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/evaluation_pass.h"
#include "core/engine/profile.h"
#include "core/engine/stage_points.h"
#include "core/ndt/search_rules.h"

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

// Writes the cloud to `floats`, PackedFloats(cloud.size()) of them; what pads them is left as it
// is. The cloud has fewer than 2^32 points.
[[nodiscard]] PackedScan PackScan(const PointCloud& cloud, float* floats);

// The same of the points at these places, which are finite, in their order.
[[nodiscard]] PackedScan PackScan(const PointCloud& cloud, absl::Span<const uint32_t> places,
                                  float* floats);

// A scan as the stages of a profile search with it.
struct StagedScan {
  PackedScan packed;
  // Of these points, from the first, those that each stage searches with.
  std::array<uint32_t, ndt::kMaxStages> stage_points{};
  double rotation_scale_m = 0.0;  // 0 where the profile does not need it
};

// Likewise. The profile must be valid. `chosen` is memory to work with, kept from scan to scan.
[[nodiscard]] StagedScan PackForStages(const PointCloud& scan_base, const Profile& profile,
                                       StagePoints& chosen, float* floats);

// The points of a pass's groups as places in its packed cloud, which has all of them; none without
// groups.
[[nodiscard]] std::vector<uint32_t> PlacesOf(const EvaluationPass& pass, const PackedScan& packed);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_PACKED_SCAN_H_
