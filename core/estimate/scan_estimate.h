// SPDX-License-Identifier: Apache-2.0
//
// What sits on top of an alignment: its covariance, what the scan observes, how likely the pose is
// right, the scores without the ground. For a batch of scans at once. Thread-safe: no shared state.

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
#include "core/estimate/quality/no_ground.h"
#include "core/estimate/rival_pose.h"
#include "core/estimate/scan_features.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {

struct EstimateRequest {
  AlignedScan scan;
  const EstimateOptions* options = nullptr;
  // Of the scan, for these options; the job has the passes that RequestPasses adds for them. Null:
  // what the alignment did not bring along is described and evaluated here.
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
  // Another explanation of the scan: as MULTI_NDT found it, or as it was looked for because the
  // confidence is low.
  std::optional<RivalPose> rival;
};

// One estimate a request, in their order. The scans share the threads of the pool; null: the
// caller's alone. The pool does not change a bit.
[[nodiscard]] std::vector<ScanEstimate> EstimateScans(Engine& engine,
                                                      absl::Span<const EstimateRequest> requests,
                                                      ThreadPool* pool = nullptr);

// The estimate of a scan whose alignment brought everything along that it takes, without the
// engine: the same bits as EstimateScans gives. nullopt: more is to be aligned or evaluated,
// because the method needs it (MULTI_NDT, MULTI_NDT_SCORE), the scan does not observe every
// direction, scores without the ground are asked for, or the result is doubtful and rivals are
// looked for.
[[nodiscard]] std::optional<ScanEstimate> EstimateFromPasses(const EstimateRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_
