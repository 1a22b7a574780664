// SPDX-License-Identifier: Apache-2.0
//
// Estimates for aligned scans, in batches: covariance, degeneracy, confidence, scores without the
// ground, protection levels, rival poses. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_
#define VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/estimate/covariance/degeneracy.h"
#include "core/estimate/estimate_options.h"
#include "core/estimate/integrity/scan_protection.h"
#include "core/estimate/quality/confidence.h"
#include "core/estimate/quality/ground.h"
#include "core/estimate/rival_pose.h"
#include "core/estimate/scan_features.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {

struct EstimateRequest {
  AlignedScan scan;
  const EstimateOptions* options = nullptr;
  // Features of the scan for these options; the job has the passes that RequestPasses adds. Null:
  // features and passes are computed here.
  std::shared_ptr<const ScanFeatures> features;
  ScanRays rays;
  std::optional<Matrix6> guess_covariance;  // about fixed map axes, positive definite
  std::optional<Twist> base_twist;          // when the scan was taken; nullopt: not known
};

struct Confidence {
  double value = 0.0;  // [0, 1]
  QualitySignals signals;
};

struct ScanEstimate {
  CovarianceReport covariance;
  std::optional<Degeneracy> degeneracy;  // nullopt: not measured before the deadline, or at all
  std::optional<Confidence> confidence;  // where asked for
  std::optional<NoGroundScores> no_ground;
  std::optional<ScanProtection> protection;  // where asked for, and the covariance is calibrated
  // A pose that explains the scan nearly as well: from MULTI_NDT, or from the search for rivals
  // around a result of low confidence.
  std::optional<RivalPose> rival;
};

// One estimate per request, in their order. The scans share the threads of the pool; null: the
// caller's thread alone. Results are bit-identical with any pool.
[[nodiscard]] std::vector<ScanEstimate> EstimateScans(Engine& engine,
                                                      absl::Span<const EstimateRequest> requests,
                                                      ThreadPool* pool = nullptr);

// The estimate of a scan from the passes of its alignment alone, without the engine; bit-identical
// to EstimateScans. nullopt: the engine is needed, because of the method (MULTI_NDT,
// MULTI_NDT_SCORE), a direction that the scan does not observe, scores without the ground, or a
// search for rivals of a doubtful result.
[[nodiscard]] std::optional<ScanEstimate> EstimateFromPasses(const EstimateRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_
