// SPDX-License-Identifier: Apache-2.0
//
// Features of a scan that do not depend on its exact pose, computed before the alignment, and the
// passes that the alignment runs at its final pose for the estimates. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_SCAN_FEATURES_H_
#define VOXLOC_CORE_ESTIMATE_SCAN_FEATURES_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <optional>

#include "core/engine/align.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/covariance_options.h"
#include "core/estimate/integrity/protection_levels.h"
#include "core/estimate/quality/scan_shape.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {

// Which estimates are computed for a result.
struct EstimateOptions {
  CovarianceOptions covariance;
  bool confidence = true;
  // Rival poses are searched around accepted results with a confidence below this. 0 to 1; 0:
  // never.
  double rival_confidence = 0.0;
  std::optional<double> no_ground_z_margin_m;  // nullopt: no scores without the ground
  // With kCalibrated only. nullopt: no protection levels, which cost more than the covariance.
  std::optional<ScanProtectionOptions> protection;
};

struct ScanFeatures {
  // Clusters of neighbouring points; plain slices if the options need no clusters.
  std::shared_ptr<const PointGroups> groups;
  std::optional<ScanShape> shape;  // where a confidence is wanted
};

// Of the pass over the free space, where a confidence is wanted.
constexpr size_t kFreeSpacePass = kClusterPass + 1;
// Of the pass over the clusters under the score stage, likewise, where the profile has more stages.
constexpr size_t kScoreStagePass = kFreeSpacePass + 1;

// The guess may be wrong by a few degrees. The threads of the pool share the work; null: the
// caller's alone.
[[nodiscard]] std::shared_ptr<const ScanFeatures> ComputeScanFeatures(
    const PointCloud& scan_base, const ScanRays& rays, const Pose& map_T_base_guess,
    const EstimateOptions& options, ThreadPool* pool = nullptr);

// Adds the passes to the job that the estimates need.
void RequestPasses(const ScanFeatures& features, AlignJob& job);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_SCAN_FEATURES_H_
