// SPDX-License-Identifier: Apache-2.0
//
// Estimates for aligned scans, in batches: covariance, degeneracy, confidence, scores without the
// ground, protection levels, rival poses; and of the hypotheses of a search. Thread-safe: no shared
// state.

#ifndef VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_
#define VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/estimate/integrity/protection_levels.h"
#include "core/estimate/quality/confidence.h"
#include "core/estimate/quality/scan_shape.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {

// Below this confidence, a result is more likely wrong than right.
constexpr double kDoubtfulConfidence = 0.5;

// A second, distinct pose near the result that explains the scan nearly as well, as the alignments
// of MULTI_NDT show it.
struct RivalPose {
  Pose map_T_base;
  double nvtl = 0.0;
};

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

// Features of a scan that do not depend on its exact pose, computed before the alignment.
struct ScanFeatures {
  // Clusters of neighbouring points; plain slices if the options need no clusters.
  std::shared_ptr<const PointGroups> groups;
  std::optional<ScanShape> shape;  // where a confidence is wanted
};

// Of the pass over the free space, where a confidence is wanted.
constexpr size_t kFreeSpacePass = kClusterPass + 1;
// Of the pass over the clusters under the score stage, likewise, where the profile has more stages.
constexpr size_t kScoreStagePass = kFreeSpacePass + 1;

// The guess may be wrong by a few degrees.
[[nodiscard]] std::shared_ptr<const ScanFeatures> ComputeScanFeatures(
    const PointCloud& scan_base, const ScanRays& rays, const Pose& map_T_base_guess,
    const EstimateOptions& options);

// Adds the passes to the job that its alignment runs at the final pose for the estimates.
void RequestPasses(const ScanFeatures& features, AlignJob& job);

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
  // From MULTI_NDT, or from the search for rivals around a result of low confidence.
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

// The alignment of the report with the highest NVTL that (1) is farther from the result than a
// separation of HypothesisOptions, (2) has an NVTL within HypothesisOptions::ambiguity_gap, and (3)
// ended at a distinct optimum. nullopt: there is none, as in reports of other methods.
[[nodiscard]] std::optional<RivalPose> FindRival(const AlignResult& result,
                                                 const CovarianceReport& report);

// One estimate per hypothesis of a search, in their order. The job's deadline is that of the search
// and ignored. Errors: Cancelled.
[[nodiscard]] absl::StatusOr<std::vector<ScanEstimate>> EstimateHypotheses(
    Engine& engine, const PoseSearchJob& job, const EstimateOptions& options, const ScanRays& rays,
    const std::vector<PoseHypothesis>& hypotheses);

// Sorts the hypotheses and their estimates by descending confidence, those without one last. The
// sort is stable: equals stay ordered by NVTL. If the first hypothesis changes, NVTL and confidence
// contradict each other, and the ranking is ambiguous. The gap is still that of the NVTL.
void RankByConfidence(RankedHypotheses& ranked, std::vector<ScanEstimate>& estimates);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_SCAN_ESTIMATE_H_
