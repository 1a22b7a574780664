// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/scan_estimate.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/cluster_covariance.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/estimate/quality/confidence.h"
#include "core/geometry/covariance.h"

namespace voxloc {
namespace {

// The requests, each with its features and with a job and a result that have the passes: those of
// the request, or copies to which the passes were added in one call of the engine.
class CompletedRequests {
 public:
  CompletedRequests(Engine& engine, absl::Span<const EstimateRequest> requests, ThreadPool* pool)
      : requests_(requests.begin(), requests.end()) {
    std::vector<size_t> places;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].features == nullptr) places.push_back(i);
    }
    if (places.empty()) return;
    copies_.resize(places.size());
    std::vector<AlignJob> missing(places.size());
    ParallelFor(pool, places.size(), [&](size_t k) {
      EstimateRequest& request = requests_[places[k]];
      Copy& copy = copies_[k];
      copy = {*request.scan.job, *request.scan.result};
      request.features = ComputeScanFeatures(*copy.job.scan, request.rays, copy.result.map_T_base,
                                             *request.options);
      RequestPasses(*request.features, copy.job);
      missing[k] = PassesAt(copy.job, copy.result);
      request.scan = {&copy.job, &copy.result};
    });
    std::vector<AlignResult> found = engine.Align(missing);
    for (size_t k = 0; k < copies_.size(); ++k) {
      copies_[k].result.passes = std::move(found[k].passes);
      copies_[k].result.point_scores = std::move(found[k].point_scores);
    }
  }

  CompletedRequests(const CompletedRequests&) = delete;
  CompletedRequests& operator=(const CompletedRequests&) = delete;

  [[nodiscard]] absl::Span<const EstimateRequest> requests() const { return requests_; }

 private:
  struct Copy {
    AlignJob job;
    AlignResult result;
  };

  // The passes of the job alone, at its answer; none where its time is over.
  static AlignJob PassesAt(const AlignJob& job, const AlignResult& result) {
    const Profile& profile = job.profile;
    AlignJob evaluation = WithGuess(job, result.map_T_base);
    evaluation.profile.stages = {profile.stages[profile.score_stage],
                                 profile.stages[static_cast<size_t>(result.stage)]};
    evaluation.profile.score_stage = 0;
    evaluation.passes_only = true;
    evaluation.with_trace = false;
    if (!CheckStopped(job.stop, "estimating").ok()) {
      evaluation.passes.clear();
      evaluation.with_point_scores = false;
    }
    return evaluation;
  }

  std::vector<EstimateRequest> requests_;
  std::vector<Copy> copies_;
};

// What is to be calibrated for the request: a covariance where the method asks for one, the
// information for all.
CalibrationRequest CalibrationFor(const EstimateRequest& request) {
  return {request.scan, request.options->covariance.method == CovarianceMethod::kCalibrated};
}

CovarianceRequest CovarianceFor(const EstimateRequest& request,
                                const CalibratedCovariance& calibrated) {
  return {request.scan, &request.options->covariance, request.base_twist, &calibrated};
}

// How far the result lies from the guess, in standard deviations of that difference: both have
// their errors. 0 where the guess has no covariance.
double InnovationOf(const EstimateRequest& request, const Matrix6& result_covariance) {
  if (!request.guess_covariance.has_value()) return 0.0;
  const Vector6 travel =
      FixedAxesDifference(request.scan.job->map_T_base_guess, request.scan.result->map_T_base);
  const Eigen::LLT<Matrix6> factor(*request.guess_covariance + result_covariance);
  if (factor.info() != Eigen::Success) return 0.0;
  return std::sqrt(std::max(0.0, travel.dot(factor.solve(travel))));
}

// Of the clusters under the cells of the score stage.
ClusterPull ComputePull(const EstimateRequest& request) {
  const AlignResult& result = *request.scan.result;
  const bool has_stages = request.scan.job->profile.stages.size() >= 2;
  const size_t pass =
      has_stages && result.passes.size() > kScoreStagePass ? kScoreStagePass : kClusterPass;
  const std::vector<GroupSums>& clusters = result.passes[pass].groups;
  Matrix6 information = Matrix6::Zero();
  for (const GroupSums& cluster : clusters) {
    information += ScaledTerms(cluster, Vector6::Ones()).information;
  }
  return MeasurePull(
      clusters,
      AnalyzeDegeneracy(information, RotationScaleOf(*request.scan.job->scan), kDegeneracyLimits));
}

std::optional<Confidence> ComputeConfidence(const EstimateRequest& request,
                                            const ScanEstimate& estimate) {
  const AlignResult& result = *request.scan.result;
  if (!request.features->shape.has_value() || result.passes.size() <= kFreeSpacePass) {
    return std::nullopt;
  }
  absl::StatusOr<QualitySignals> signals = MeasureQuality(
      {request.scan.job, &result, &*request.features->shape,
       &result.passes[kClusterPass].point_scores, &result.passes[kFreeSpacePass].point_scores});
  if (!signals.ok()) return std::nullopt;
  signals->innovation = InnovationOf(request, estimate.covariance.covariance);
  signals->pull = ComputePull(request);
  return Confidence{ConfidenceOf(*signals), *signals};
}

std::optional<ScanProtection> ComputeProtection(const EstimateRequest& request,
                                                const CalibratedCovariance& calibrated,
                                                const ScanEstimate& estimate) {
  const EstimateOptions& options = *request.options;
  if (!options.protection.has_value() ||
      options.covariance.method != CovarianceMethod::kCalibrated) {
    return std::nullopt;
  }
  const Matrix6 of_scan = options.covariance.scale_factor * calibrated.covariance;
  const auto protection =
      ProtectScan(request.scan, calibrated, of_scan, estimate.covariance.covariance - of_scan,
                  *options.protection);
  if (!protection.ok()) return std::nullopt;
  return *protection;
}

// What follows from the covariance and what was observed.
ScanEstimate AssembleEstimate(const EstimateRequest& request, CovarianceReport covariance,
                              const CalibratedCovariance& observed) {
  ScanEstimate estimate;
  estimate.covariance = std::move(covariance);
  if (observed.status.ok()) {
    estimate.degeneracy =
        AnalyzeDegeneracy(observed.information, observed.rotation_scale_m, kDegeneracyLimits);
  }
  if (request.options->confidence) estimate.confidence = ComputeConfidence(request, estimate);
  estimate.protection = ComputeProtection(request, observed, estimate);
  return estimate;
}

bool IsDoubtful(const EstimateRequest& request, const ScanEstimate& estimate) {
  return estimate.confidence.has_value() &&
         estimate.confidence->value < request.options->rival_confidence &&
         Judge(*request.scan.result, request.scan.job->profile) == Acceptance::kAccepted;
}

// Finds the rivals among the alignments of MULTI_NDT, which doubtful results of other methods get
// for this, all as one batch.
void FindRivals(Engine& engine, absl::Span<const EstimateRequest> requests,
                std::vector<ScanEstimate>& estimates) {
  CovarianceOptions around;
  around.method = CovarianceMethod::kMultiNdt;
  std::vector<CovarianceRequest> doubtful;
  std::vector<size_t> places;
  for (size_t i = 0; i < requests.size(); ++i) {
    const EstimateRequest& request = requests[i];
    estimates[i].rival = FindRival(*request.scan.result, estimates[i].covariance);
    if (estimates[i].covariance.method == CovarianceMethod::kMultiNdt) continue;
    if (!IsDoubtful(request, estimates[i])) continue;
    doubtful.push_back({request.scan, &around, std::nullopt});
    places.push_back(i);
  }
  if (doubtful.empty()) return;
  const std::vector<CovarianceReport> reports = EstimateCovariances(engine, doubtful);
  for (size_t k = 0; k < places.size(); ++k) {
    estimates[places[k]].rival = FindRival(*doubtful[k].scan.result, reports[k]);
  }
}

}  // namespace

std::vector<ScanEstimate> EstimateScans(Engine& engine, absl::Span<const EstimateRequest> requests,
                                        ThreadPool* pool) {
  const CompletedRequests complete(engine, requests, pool);
  requests = complete.requests();
  std::vector<CalibrationRequest> calibrations;
  for (const EstimateRequest& request : requests) calibrations.push_back(CalibrationFor(request));
  const std::vector<CalibratedCovariance> calibrated =
      CalibrateCovariances(engine, calibrations, pool);
  std::vector<CovarianceRequest> covariances;
  for (size_t i = 0; i < requests.size(); ++i) {
    covariances.push_back(CovarianceFor(requests[i], calibrated[i]));
  }
  std::vector<CovarianceReport> reports = EstimateCovariances(engine, covariances);
  std::vector<ScanEstimate> estimates(requests.size());
  ParallelFor(pool, requests.size(), [&](size_t i) {
    estimates[i] = AssembleEstimate(requests[i], std::move(reports[i]), calibrated[i]);
  });
  for (size_t i = 0; i < requests.size(); ++i) {
    const EstimateRequest& request = requests[i];
    if (!request.options->no_ground_z_margin_m.has_value()) continue;
    absl::StatusOr<NoGroundScores> scores =
        ScoreWithoutGround(engine, *request.scan.job, request.scan.result->map_T_base,
                           *request.options->no_ground_z_margin_m);
    if (scores.ok()) estimates[i].no_ground = *std::move(scores);
  }
  FindRivals(engine, requests, estimates);
  return estimates;
}

std::optional<ScanEstimate> EstimateFromPasses(const EstimateRequest& request) {
  if (request.features == nullptr || request.options->no_ground_z_margin_m.has_value()) {
    return std::nullopt;
  }
  const std::optional<CalibratedCovariance> calibrated =
      CalibrateFromPasses(CalibrationFor(request));
  if (!calibrated.has_value()) return std::nullopt;
  std::optional<CovarianceReport> report =
      EstimateWithoutEngine(CovarianceFor(request, *calibrated));
  if (!report.has_value()) return std::nullopt;
  ScanEstimate estimate = AssembleEstimate(request, *std::move(report), *calibrated);
  if (IsDoubtful(request, estimate)) return std::nullopt;
  estimate.rival = FindRival(*request.scan.result, estimate.covariance);
  return estimate;
}

std::optional<RivalPose> FindRival(const AlignResult& result, const CovarianceReport& report) {
  // An alignment that ends within this distance of its start has not reached a distinct optimum:
  // the scan does not observe that direction.
  constexpr double kMinRivalTravelM = 0.25;
  const HypothesisOptions limits;
  const double enough = (1.0 - limits.ambiguity_gap) * result.after.nearest_voxel_likelihood;
  std::optional<RivalPose> rival;
  const size_t ends = std::min(
      {report.offset_map_T_base.size(), report.aligned_map_T_base.size(), report.nvtl.size()});
  for (size_t i = 0; i < ends; ++i) {
    const Pose& end = report.aligned_map_T_base[i];
    const bool distinct = TranslationDistance(end, result.map_T_base) >= limits.min_separation_m ||
                          RotationDistance(end, result.map_T_base) >= limits.min_separation_rad;
    const bool settled = TranslationDistance(end, report.offset_map_T_base[i]) >= kMinRivalTravelM;
    if (!distinct || !settled || !(report.nvtl[i] > enough)) continue;
    if (!rival.has_value() || report.nvtl[i] > rival->nvtl) rival = {end, report.nvtl[i]};
  }
  return rival;
}

absl::StatusOr<std::vector<ScanEstimate>> EstimateHypotheses(
    Engine& engine, const PoseSearchJob& job, const EstimateOptions& options, const ScanRays& rays,
    const std::vector<PoseHypothesis>& hypotheses) {
  AlignJob align = AlignmentOf(job);
  align.stop.deadline = absl::InfiniteFuture();
  std::vector<ScanEstimate> estimates;
  constexpr size_t kMaxPointScores = size_t{1} << 22;  // that are held at once: 16 MiB
  const size_t slice = std::max<size_t>(kMaxPointScores / job.scan->size(), 1);
  for (size_t first = 0; first < hypotheses.size(); first += slice) {
    const auto some = absl::MakeConstSpan(hypotheses).subspan(first, slice);
    std::vector<AlignJob> jobs(some.size(), align);
    std::vector<EstimateRequest> requests(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      jobs[i].map_T_base_guess = some[i].result.map_T_base;
      requests[i].scan = {&jobs[i], &some[i].result};
      requests[i].options = &options;
      requests[i].rays = rays;
    }
    std::vector<ScanEstimate> part = EstimateScans(engine, requests);
    std::move(part.begin(), part.end(), std::back_inserter(estimates));
    if (align.stop.cancelled != nullptr && align.stop.cancelled->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the search was cancelled");
    }
  }
  return estimates;
}

void RankByConfidence(RankedHypotheses& ranked, std::vector<ScanEstimate>& estimates) {
  const auto confidence = [&](size_t i) {
    return estimates[i].confidence.has_value() ? estimates[i].confidence->value : -1.0;
  };
  std::vector<size_t> order(estimates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return confidence(a) > confidence(b); });
  if (!order.empty() && order.front() != 0) ranked.ambiguous = true;
  std::vector<PoseHypothesis> hypotheses;
  std::vector<ScanEstimate> sorted;
  for (const size_t i : order) {
    hypotheses.push_back(std::move(ranked.hypotheses[i]));
    sorted.push_back(std::move(estimates[i]));
  }
  ranked.hypotheses = std::move(hypotheses);
  estimates = std::move(sorted);
}

std::shared_ptr<const ScanFeatures> ComputeScanFeatures(const PointCloud& scan_base,
                                                        const ScanRays& rays,
                                                        const Pose& map_T_base_guess,
                                                        const EstimateOptions& options) {
  auto features = std::make_shared<ScanFeatures>();
  const bool by_neighbours =
      options.confidence || options.covariance.method == CovarianceMethod::kCalibrated;
  features->groups = std::make_shared<const PointGroups>(by_neighbours ? ClusterPoints(scan_base)
                                                                       : SlicePoints(scan_base));
  if (options.confidence) features->shape = ShapeOf(scan_base, rays, map_T_base_guess.rotation);
  return features;
}

void RequestPasses(const ScanFeatures& features, AlignJob& job) {
  job.passes.clear();
  EvaluationPass& clusters = job.passes.emplace_back();
  clusters.groups = features.groups;
  if (!features.shape.has_value()) return;
  job.with_point_scores = true;
  clusters.with_point_scores = true;
  EvaluationPass& free_space = job.passes.emplace_back();
  free_space.cloud = features.shape->free_space.points_base;
  free_space.score_stage = true;
  free_space.own_cell_only = true;
  free_space.with_point_scores = true;
  if (job.profile.stages.size() < 2) return;
  EvaluationPass& score_stage = job.passes.emplace_back();
  score_stage.groups = features.groups;
  score_stage.score_stage = true;
}

}  // namespace voxloc
