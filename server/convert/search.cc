// SPDX-License-Identifier: Apache-2.0

#include "server/convert/search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/convert/covariance.h"
#include "server/convert/earth_region.h"
#include "server/convert/estimate.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"
#include "server/convert/result.h"

namespace voxloc::server {
namespace {

// Wider than any map. Keeps candidates within the engine's ranges.
constexpr double kMaxPriorSigmaM = 1e5;
// Of hypotheses, in metres or radians.
constexpr double kMinSeparation = 1e-6;

absl::StatusOr<SearchScope> PriorFromProto(const v1::PoseWithCovariance& prior,
                                           const v1::SearchOptions& search, size_t max_particles) {
  PriorSearchOptions options;
  auto pose = PoseFromProto(prior.pose(), "prior.pose");
  if (!pose.ok()) return pose.status();
  options.map_T_base = *pose;
  auto covariance = CovarianceFromProto(prior.covariance(), "prior.covariance");
  if (!covariance.ok()) return covariance.status();
  if (!covariance->has_value()) {
    return absl::InvalidArgumentError("prior.covariance is empty; a search needs its 36 values");
  }
  options.covariance = **covariance;
  const double sigma_m = std::sqrt(options.covariance.diagonal().head<3>().maxCoeff());
  if (!(sigma_m <= kMaxPriorSigmaM)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the standard deviation of prior.covariance must be at most ", kMaxPriorSigmaM,
                     " m (got ", sigma_m, " m)"));
  }
  if (search.particles() > 0) options.particles = search.particles();
  options.startup_trials = search.startup_trials() > 0
                               ? search.startup_trials()
                               : std::min(options.startup_trials, options.particles);
  if (absl::Status status = ValidatePriorSearch(options, max_particles); !status.ok()) {
    return status;
  }
  return SearchScope(options);
}

absl::StatusOr<PoseRegion::Box> BoxOf(const v1::SearchRegion& region, const MapView& map) {
  if (region.has_box() == region.has_wgs84_circle()) {
    return absl::InvalidArgumentError(absl::StrCat("region must have a box or a wgs84_circle (got ",
                                                   region.has_box() ? "both" : "neither", ")"));
  }
  if (region.has_wgs84_circle()) return BoxAroundCircle(region.wgs84_circle(), map);
  auto box = BoxFromProto(region.box(), "region.box");
  if (!box.ok()) return box.status();
  const Eigen::Vector3d size = box->max - box->min;
  if (!(size.x() > 0.0 && size.y() > 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat("region.box must have an area (got ", size.x(),
                                                   " m by ", size.y(),
                                                   " m); for a single position, use prior"));
  }
  return PoseRegion::Box{box->min, box->max};
}

absl::StatusOr<SearchScope> RegionFromProto(const v1::EstimateInitialPoseRequest& request,
                                            const MapView& map) {
  PoseRegion region;
  absl::Status status =
      CheckRange("region.yaw_rad", request.region().yaw_rad(), -kMaxAngleRad, kMaxAngleRad);
  if (!status.ok()) return status;
  if (request.search().max_tilt_rad() != 0.0) region.max_tilt_rad = request.search().max_tilt_rad();
  if (request.has_region()) {
    const v1::SearchRegion& asked = request.region();
    auto box = BoxOf(asked, map);
    if (!box.ok()) return box.status();
    region.box = *box;
    region.yaw_rad = asked.yaw_rad();
    if (asked.yaw_half_range_rad() != 0.0) region.yaw_half_range_rad = asked.yaw_half_range_rad();
  }
  if (status = ValidatePoseRegion(region); !status.ok()) return status;
  return SearchScope(region);
}

v1::SearchPhase PhaseToProto(PoseSearchPhase phase) {
  switch (phase) {
    case PoseSearchPhase::kPreparing:
      return v1::SEARCH_PHASE_PREPARING;
    case PoseSearchPhase::kSearching:
      return v1::SEARCH_PHASE_SEARCHING;
    case PoseSearchPhase::kAligning:
      return v1::SEARCH_PHASE_ALIGNING;
    case PoseSearchPhase::kRanking:
      return v1::SEARCH_PHASE_RANKING;
  }
  return v1::SEARCH_PHASE_UNSPECIFIED;
}

void ParticleToProto(const SearchParticle& particle, v1::SearchParticle& proto) {
  proto.set_index(static_cast<uint32_t>(particle.index));
  PoseToProto(particle.start_map_T_base, *proto.mutable_start_map_t_base());
  PoseToProto(particle.result.map_T_base, *proto.mutable_map_t_base());
  ScoresToProto(particle.result.after, *proto.mutable_scores());
  proto.set_iterations(static_cast<uint32_t>(particle.result.iterations));
}

}  // namespace

absl::StatusOr<SearchScope> SearchScopeFromProto(const v1::EstimateInitialPoseRequest& request,
                                                 size_t max_particles, const MapView& map) {
  switch (request.scope_case()) {
    case v1::EstimateInitialPoseRequest::kPrior:
      return PriorFromProto(request.prior(), request.search(), max_particles);
    case v1::EstimateInitialPoseRequest::kRegion:
    case v1::EstimateInitialPoseRequest::kWholeMap:
      return RegionFromProto(request, map);
    case v1::EstimateInitialPoseRequest::SCOPE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the request has no scope: prior, region or whole_map");
}

absl::StatusOr<HypothesisOptions> HypothesisOptionsFromProto(const v1::SearchOptions& search) {
  HypothesisOptions options;
  for (const absl::Status& status :
       {CheckRangeOrZero("search.min_separation_m", search.min_separation_m(), kMinSeparation,
                         kMaxLengthM, "the default"),
        CheckRangeOrZero("search.min_separation_rad", search.min_separation_rad(), kMinSeparation,
                         kMaxAngleRad, "the default")}) {
    if (!status.ok()) return status;
  }
  if (search.max_hypotheses() > 0) options.max_hypotheses = search.max_hypotheses();
  if (search.min_separation_m() != 0.0) options.min_separation_m = search.min_separation_m();
  if (search.min_separation_rad() != 0.0) options.min_separation_rad = search.min_separation_rad();
  if (search.ambiguity_gap() != 0.0) options.ambiguity_gap = search.ambiguity_gap();
  if (absl::Status status = ValidateHypothesisOptions(options); !status.ok()) return status;
  return options;
}

void SearchProgressToProto(const PoseSearchProgress& progress, bool with_particles,
                           v1::SearchProgress& proto) {
  proto.set_phase(PhaseToProto(progress.phase));
  proto.set_fraction(progress.fraction);
  proto.set_candidates_scored(progress.candidates_scored);
  proto.set_candidates_aligned(static_cast<uint32_t>(progress.candidates_aligned));
  if (!with_particles) return;
  for (const SearchParticle& particle : progress.particles) {
    ParticleToProto(particle, *proto.add_particles());
  }
}

void HypothesisToProto(const AlignResult& result, v1::AlignmentStatus status,
                       v1::PoseHypothesis& proto) {
  PoseToProto(result.map_T_base, *proto.mutable_map_t_base()->mutable_pose());
  ScoresToProto(result.after, *proto.mutable_scores());
  proto.set_status(status);
}

void EstimateToProto(const ScanEstimate& estimate, const OutputChoice& output,
                     v1::PoseHypothesis& proto) {
  AppendRowMajor(estimate.covariance.covariance, *proto.mutable_map_t_base()->mutable_covariance());
  if (estimate.confidence.has_value() && output.confidence) {
    ConfidenceToProto(*estimate.confidence, *proto.mutable_confidence());
  }
}

void SearchResultToProto(const PoseSearchResult& result, v1::SearchResult& proto) {
  proto.set_ambiguity_gap(result.ranked.ambiguity_gap);
  proto.set_ambiguous(result.ranked.ambiguous);
  proto.set_reliable(result.reliable);
  proto.set_timed_out(result.timed_out);
  proto.set_candidates_scored(result.candidates_scored);
  proto.set_candidates_aligned(static_cast<uint32_t>(result.candidates_aligned));
  proto.mutable_timings()->set_batch_size(static_cast<uint32_t>(result.largest_batch));
}

}  // namespace voxloc::server
