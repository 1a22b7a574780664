// SPDX-License-Identifier: Apache-2.0

#include "server/localization/search_work.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/engine/align.h"
#include "core/estimate/initial_pose/prior_search.h"
#include "core/estimate/scan_estimate.h"
#include "core/status/try.h"
#include "core/tracking/verdict.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"
#include "server/convert/result.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"
#include "server/session/session_setup.h"

namespace voxloc::server {
namespace {

// P(|x - mean| > 6 sigma) = 2e-9 per axis.
constexpr double kParticleReachSigmas = 6.0;

}  // namespace

absl::Status SearchWork::Open(std::shared_ptr<const std::atomic<bool>> cancelled) {
  if (!request_.has_scan()) return absl::InvalidArgumentError("the request has no scan");
  VOXLOC_ASSIGN_OR_RETURN(
      auto points,
      CheckScanClouds(request_.scan(), parts_.live_config.limits()->max_points_per_scan));
  if (points == 0) return absl::InvalidArgumentError("the scan has no points");
  VOXLOC_ASSIGN_OR_RETURN(hints_, ScanHintsFromProto(request_.scan()));
  VOXLOC_ASSIGN_OR_RETURN(auto setup,
                          CheckSetup(*parts_.live_config.Get(), parts_.maps, request_.setup()));
  recipe_ = std::move(setup.source.recipe);
  map_ = std::move(setup.map);
  job_.profile = std::move(setup.profile_on_map);
  // Hypotheses are each other's rivals.
  recipe_.estimate.rival_confidence = 0.0;
  VOXLOC_ASSIGN_OR_RETURN(
      scope_, SearchScopeFromProto(request_, parts_.live_config.limits()->max_particles, map_));
  VOXLOC_ASSIGN_OR_RETURN(auto hypotheses, HypothesisOptionsFromProto(request_.search()));
  VOXLOC_TRY(RequireTiles());
  const double timeout_s = request_.timeout_s();
  VOXLOC_TRY(CheckSeconds("timeout_s", timeout_s));

  job_.map = map_.resident();
  job_.stop.cancelled = std::move(cancelled);
  if (timeout_s > 0.0) job_.stop.deadline = received_at_ + absl::Seconds(timeout_s);
  job_.seed = request_.search().seed();
  job_.hypotheses = hypotheses;
  return absl::OkStatus();
}

absl::StatusOr<v1::SearchResult> SearchWork::Run(const Observer& observer) {
  v1::SearchResult result;
  v1::Timings& timings = *result.mutable_timings();
  timings.set_received_at_ns(absl::ToUnixNanos(received_at_));
  const Clock::time_point start = Clock::now();
  timings.set_queue_wait_s(ToSeconds(start - received_));
  PoseSearchProgress progress;
  ReportProgress(progress, observer);
  VOXLOC_ASSIGN_OR_RETURN(
      scan_, PrepareScan(request_.scan(), recipe_, DeskewTwist(hints_, hints_.base_twist),
                         parts_.engine, WorkClass::kSearching));
  VOXLOC_TRY(RequirePoints(scan_.counts));
  job_.scan = scan_.base;
  const Clock::time_point prepared = Clock::now();
  timings.set_prepare_s(ToSeconds(prepared - start));

  auto found = Search([this, &progress, &observer](const PoseSearchProgress& step) {
    progress = step;
    ReportProgress(step, observer);
  });
  if (!found.ok()) return Explain(found.status());
  const Clock::time_point searched = Clock::now();
  timings.set_align_s(ToSeconds(searched - prepared));

  VOXLOC_TRY(DescribeHypotheses(*found, result));
  SearchResultToProto(*found, result);
  PointCountsToProto(scan_.counts, *result.mutable_points());
  result.mutable_points()->set_deskewed(scan_.deskewed);
  result.set_map(request_.setup().map());
  result.set_map_revision(map_.snapshot->revision);
  result.set_engine(parts_.engine.name());
  result.set_stamp_ns(request_.scan().stamp_ns());
  result.set_prior_height_shift_m(prior_height_shift_m_);
  timings.set_estimate_s(ToSeconds(Clock::now() - searched));
  timings.set_server_s(ToSeconds(Clock::now() - received_));
  Count(result);
  return result;
}

absl::StatusOr<PoseSearchResult> SearchWork::Search(const PoseSearchObserver& observer) {
  if (auto* prior = std::get_if<PriorSearchOptions>(&scope_)) {
    VOXLOC_TRY(FitPriorHeight(prior));
    const double sigma_m = std::sqrt(prior->covariance.diagonal().head<3>().maxCoeff());
    const double reach_m = MaxPointDistance(*job_.scan) + kParticleReachSigmas * sigma_m;
    // Outside the map no particle has a cell near it.
    if (!CanTouch(map_.snapshot->tiles.bounds(), prior->map_T_base, reach_m,
                  MatchMargin(job_.profile))) {
      return PoseSearchResult();
    }
    return SearchAroundPrior(parts_.engine, job_, *prior, observer);
  }
  return global_search_.Search(job_, std::get<PoseRegion>(scope_), observer);
}

absl::Status SearchWork::Explain(const absl::Status& status) const {
  if (!absl::IsCancelled(status) && parts_.engine_faults.WasReplaced(map_)) {
    return parts_.engine_faults.Error();
  }
  if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
      absl::IsResourceExhausted(status) || absl::IsCancelled(status)) {
    return status;
  }
  return parts_.engine_faults.Report(request_.setup().vehicle(), request_.setup().map(), status);
}

absl::Status SearchWork::RequireTiles() const {
  constexpr double kAnywhere = std::numeric_limits<double>::infinity();
  Eigen::Vector2d min = Eigen::Vector2d::Constant(-kAnywhere);
  Eigen::Vector2d max = -min;
  if (const auto* prior = std::get_if<PriorSearchOptions>(&scope_)) {
    const Eigen::Vector2d reach =
        kParticleReachSigmas * prior->covariance.diagonal().head<2>().cwiseSqrt();
    min = prior->map_T_base.translation.head<2>() - reach;
    max = prior->map_T_base.translation.head<2>() + reach;
  } else if (const auto& region = std::get<PoseRegion>(scope_); region.box.has_value()) {
    min = region.box->min.head<2>();
    max = region.box->max.head<2>();
  }
  return parts_.residency_check.EnsureResident(map_, min, max);
}

absl::Status SearchWork::FitPriorHeight(PriorSearchOptions* prior) {
  const std::vector<CellStatistics>& there = job_.map->statistics();
  const auto at =
      std::find(there.begin(), there.end(), job_.profile.stages[job_.profile.score_stage].cells);
  if (at == there.end()) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const auto height,
                          HeightOnSurface(*job_.map, static_cast<size_t>(at - there.begin()),
                                          map_.snapshot->tiles.bounds(), *job_.scan, *prior));
  if (!height.has_value()) return absl::OkStatus();
  double& z_m = prior->map_T_base.translation.z();
  prior_height_shift_m_ = height->z_m - z_m;
  z_m = height->z_m;
  // Correlations with the height do not count: only the diagonal is used.
  prior->covariance.row(2).setZero();
  prior->covariance.col(2).setZero();
  prior->covariance(2, 2) = height->sigma_m * height->sigma_m;
  return absl::OkStatus();
}

v1::AlignmentStatus SearchWork::StatusOf(const AlignResult& result,
                                         const ScanEstimate* estimate) const {
  const AlignOptions& align = recipe_.align;
  AcceptanceLimits limits = align.limits;
  if (estimate == nullptr) limits.min_confidence = 0.0;
  return StatusToProto(JudgeResult(result, estimate, job_.profile, align.gate, limits).status);
}

void SearchWork::ReportProgress(const PoseSearchProgress& progress,
                                const Observer& observer) const {
  v1::SearchProgress proto;
  SearchProgressToProto(progress, request_.report_particles(), proto);
  if (progress.best != nullptr) {
    HypothesisToProto(*progress.best, StatusOf(*progress.best, nullptr), *proto.mutable_best());
  }
  observer(std::move(proto));
}

absl::Status SearchWork::DescribeHypotheses(PoseSearchResult& found,
                                            v1::SearchResult& result) const {
  auto estimates = EstimateHypotheses(parts_.engine, job_, recipe_.estimate, scan_.rays,
                                      found.ranked.hypotheses);
  if (!estimates.ok()) return Explain(estimates.status());
  RankByConfidence(found.ranked, *estimates);
  found.reliable = IsReliable(found.ranked, job_);
  const std::vector<PoseHypothesis>& hypotheses = found.ranked.hypotheses;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    v1::PoseHypothesis& proto = *result.add_hypotheses();
    HypothesisToProto(hypotheses[i].result, StatusOf(hypotheses[i].result, &(*estimates)[i]),
                      proto);
    EstimateToProto((*estimates)[i], recipe_.output, proto);
    if (hints_.odom_T_base.has_value()) {
      PoseToProto(hypotheses[i].result.map_T_base * hints_.odom_T_base->Inverse(),
                  *proto.mutable_map_t_odom());
    }
    proto.set_support(static_cast<uint32_t>(hypotheses[i].support));
  }
  return absl::OkStatus();
}

void SearchWork::Count(const v1::SearchResult& result) const {
  const Metrics& metrics = parts_.metrics;
  const auto [found, counter] = [&]() -> std::pair<const char*, const Counter*> {
    if (result.ambiguous()) return {"ambiguous", &metrics.searches_ambiguous};
    if (result.reliable()) return {"reliable", &metrics.searches_reliable};
    if (result.hypotheses_size() > 0) return {"unreliable", &metrics.searches_unreliable};
    return {"nothing", &metrics.searches_nothing};
  }();
  counter->Increment();
  if (result.timed_out()) metrics.searches_timed_out.Increment();
  metrics.search_candidates.Increment(result.candidates_aligned());
  metrics.search_duration_s.Observe(result.timings().server_s());
  LogRateLimited(LogLevel::kInfo, "searched",
                 {{"vehicle", request_.setup().vehicle()},
                  {"map", request_.setup().map()},
                  {"found", found},
                  {"hypotheses", result.hypotheses_size()},
                  {"aligned", result.candidates_aligned()},
                  {"timed_out", result.timed_out()},
                  {"server_s", result.timings().server_s()}});
}

}  // namespace voxloc::server
