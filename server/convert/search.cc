// SPDX-License-Identifier: Apache-2.0

#include "server/convert/search.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/geodesy/map_frame.h"
#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"
#include "server/convert/result.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

// Wider than any map. Keeps candidates within the engine's ranges.
constexpr double kMaxPriorSigmaM = 1e5;
// The separation of hypotheses, in metres or radians.
constexpr double kMinSeparation = 1e-6;

absl::StatusOr<SearchScope> PriorFromProto(const v1::PoseWithCovariance& prior,
                                           const v1::SearchOptions& search, size_t max_particles) {
  PriorSearchOptions options;
  VOXLOC_ASSIGN_OR_RETURN(options.map_T_base, PoseFromProto(prior.pose(), "prior.pose"));
  VOXLOC_ASSIGN_OR_RETURN(auto covariance,
                          CovarianceFromProto(prior.covariance(), "prior.covariance"));
  if (!covariance.has_value()) {
    return absl::InvalidArgumentError("prior.covariance is empty; a search needs its 36 values");
  }
  options.covariance = *covariance;
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
  if (search.guided_batch() > 0) options.guided_batch = search.guided_batch();
  VOXLOC_TRY(ValidatePriorSearch(options, max_particles));
  return SearchScope(options);
}

// Wider than any map, and higher.
constexpr double kMaxRadiusM = 1e5;

constexpr char kName[] = "region.wgs84_circle";

absl::Status NoFrame(const MapView& map, absl::string_view why) {
  const std::string& name = map.snapshot->name;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          kName, " cannot be found on map ", name, ": ", why,
          "; give the region as a box, or commit a transaction on the map with a frame that has a "
          "WGS84 origin or a projector other than Local")),
      "MAP_FRAME_UNKNOWN", {{"map", name}});
}

absl::Status Outside(const v1::Wgs84Circle& circle, const Eigen::Vector2d& centre_m,
                     const Bounds& bounds, const MapProjection& projection) {
  const Eigen::Vector2d middle_m = (0.5 * (bounds.min + bounds.max)).head<2>();
  std::string where;
  if (const auto middle = projection.ToEarth(middle_m); middle.ok()) {
    where = absl::StrFormat(", around latitude %.6f and longitude %.6f", middle->latitude_deg,
                            middle->longitude_deg);
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s does not touch the map: latitude %.6f and longitude %.6f are at x %.1f, y %.1f m and the "
      "radius is %g m; the map is at x %.1f to %.1f, y %.1f to %.1f m%s",
      kName, circle.latitude_deg(), circle.longitude_deg(), centre_m.x(), centre_m.y(),
      circle.radius_m(), bounds.min.x(), bounds.max.x(), bounds.min.y(), bounds.max.y(), where));
}

// The box around the circle along the map's axes, at all heights. FailedPrecondition: the map's
// frame does not say where it lies; InvalidArgument: a malformed circle, or one that does not touch
// the map's bounds.
absl::StatusOr<PoseRegion::Box> BoxAroundCircle(const v1::Wgs84Circle& circle, const MapView& map) {
  VOXLOC_TRY(CheckLatitudeLongitude(kName, circle.latitude_deg(), circle.longitude_deg()));
  VOXLOC_TRY(CheckRanges({{absl::StrCat(kName, ".radius_m"), circle.radius_m(),
                           Over(0.0).AtMost(kMaxRadiusM).Unit(" m")}}));
  if (!map.facts->frame.has_value()) return NoFrame(map, "the map has no frame");
  const auto projection = MakeMapProjection(*map.facts->frame);
  if (!projection.ok()) return NoFrame(map, projection.status().message());
  const auto centre_m = (*projection)->ToMap({circle.latitude_deg(), circle.longitude_deg()});
  if (!centre_m.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(kName, ": ", centre_m.status().message()));
  }
  const Bounds& bounds = map.snapshot->tiles.bounds();
  PoseRegion::Box box;
  box.min << centre_m->array() - circle.radius_m(), bounds.min.z() - kMaxRadiusM;
  box.max << centre_m->array() + circle.radius_m(), bounds.max.z() + kMaxRadiusM;
  const bool touches = (box.min.array() <= bounds.max.array()).all() &&
                       (box.max.array() >= bounds.min.array()).all();
  if (bounds.finite_points > 0 && !touches) return Outside(circle, *centre_m, bounds, **projection);
  return box;
}

absl::StatusOr<PoseRegion::Box> BoxOf(const v1::SearchRegion& region, const MapView& map) {
  if (region.has_box() == region.has_wgs84_circle()) {
    return absl::InvalidArgumentError(absl::StrCat("region must have a box or a wgs84_circle (got ",
                                                   region.has_box() ? "both" : "neither", ")"));
  }
  if (region.has_wgs84_circle()) return BoxAroundCircle(region.wgs84_circle(), map);
  VOXLOC_ASSIGN_OR_RETURN(auto box, BoxFromProto(region.box(), "region.box"));
  const Eigen::Vector3d size = box.max - box.min;
  if (!(size.x() > 0.0 && size.y() > 0.0)) {
    return absl::InvalidArgumentError(absl::StrCat("region.box must have an area (got ", size.x(),
                                                   " m by ", size.y(),
                                                   " m); for a single position, use prior"));
  }
  return PoseRegion::Box{box.min, box.max};
}

absl::StatusOr<SearchScope> RegionFromProto(const v1::EstimateInitialPoseRequest& request,
                                            const MapView& map) {
  PoseRegion region;
  VOXLOC_TRY(CheckRanges(
      {{"region.yaw_rad", request.region().yaw_rad(), FromTo(-kMaxAngleRad, kMaxAngleRad)}}));
  if (request.search().max_tilt_rad() != 0.0) region.max_tilt_rad = request.search().max_tilt_rad();
  if (request.has_region()) {
    const v1::SearchRegion& given = request.region();
    VOXLOC_ASSIGN_OR_RETURN(region.box, BoxOf(given, map));
    region.yaw_rad = given.yaw_rad();
    if (given.yaw_half_range_rad() != 0.0) region.yaw_half_range_rad = given.yaw_half_range_rad();
  }
  VOXLOC_TRY(ValidatePoseRegion(region));
  return SearchScope(region);
}

// In the order of the contract.
constexpr PoseSearchPhase kSearchPhases[] = {PoseSearchPhase::kPreparing,
                                             PoseSearchPhase::kSearching,
                                             PoseSearchPhase::kAligning, PoseSearchPhase::kRanking};
static_assert(std::size(kSearchPhases) == v1::SearchPhase_MAX);

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
  if (request.has_prior()) return PriorFromProto(request.prior(), request.search(), max_particles);
  if (request.scope_case() == v1::EstimateInitialPoseRequest::SCOPE_NOT_SET) {
    return absl::InvalidArgumentError("the request has no scope: prior, region or whole_map");
  }
  return RegionFromProto(request, map);
}

absl::StatusOr<HypothesisOptions> HypothesisOptionsFromProto(const v1::SearchOptions& search) {
  HypothesisOptions options;
  VOXLOC_TRY(CheckRangeOrZero("search.min_separation_m", search.min_separation_m(), kMinSeparation,
                              kMaxLengthM, "the default"));
  VOXLOC_TRY(CheckRangeOrZero("search.min_separation_rad", search.min_separation_rad(),
                              kMinSeparation, kMaxAngleRad, "the default"));
  if (search.max_hypotheses() > 0) options.max_hypotheses = search.max_hypotheses();
  if (search.min_separation_m() != 0.0) options.min_separation_m = search.min_separation_m();
  if (search.min_separation_rad() != 0.0) options.min_separation_rad = search.min_separation_rad();
  if (search.ambiguity_gap() != 0.0) options.ambiguity_gap = search.ambiguity_gap();
  VOXLOC_TRY(ValidateHypothesisOptions(options));
  return options;
}

void SearchProgressToProto(const PoseSearchProgress& progress, bool with_particles,
                           v1::SearchProgress& proto) {
  proto.set_phase(EnumToProto<v1::SearchPhase>(kSearchPhases, progress.phase));
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

void EstimateToProto(const ScanEstimate& estimate, const v1::OutputOptions& output,
                     v1::PoseHypothesis& proto) {
  AppendRowMajor(estimate.covariance.covariance, *proto.mutable_map_t_base()->mutable_covariance());
  if (estimate.confidence.has_value() && !output.no_confidence()) {
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
