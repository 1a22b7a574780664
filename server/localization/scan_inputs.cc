// SPDX-License-Identifier: Apache-2.0

#include "server/localization/scan_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cloud/filters.h"
#include "core/engine/align.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/status/try.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {

namespace {

// Of a guess that odometry carried on from a result: the odometry's drift, and what neighbouring
// results differ by because the map is distorted.
Matrix6 MotionCovariance(const Pose& map_T_base_guess, const Pose& carried_by,
                         const AlignOptions& options) {
  Matrix6 covariance =
      SystematicCovariance(options.covariance.systematic, map_T_base_guess, std::nullopt)
          .map_and_mounting;
  const double moved_m = options.odometry_drift * TranslationDistance(Pose(), carried_by);
  const double turned_rad = options.odometry_drift * RotationDistance(Pose(), carried_by);
  covariance.diagonal().head<3>().array() += std::max(moved_m * moved_m, kMinVariance);
  covariance.diagonal().tail<3>().array() += std::max(turned_rad * turned_rad, kMinVariance);
  return covariance;
}

// Sets the guess of a scan that has none of its own from what the session knows.
void GuessFromSession(const AlignOptions& options, PlacedScan& placed) {
  const SessionState::ScanPrior& prior = placed.prior;
  std::optional<Pose> carried_by;
  if (placed.fusion.has_value() && placed.fusion->known) {
    placed.guess_map_T_base = placed.fusion->map_T_base;
    carried_by = placed.fusion->motion;
    // The filter's pose is that which scans show, whatever the offset of their stamps.
    const SystematicParts systematic = SystematicCovariance(
        placed.fusion->systematic, placed.fusion->map_T_base, prior.base_twist);
    placed.guess_covariance =
        placed.fusion->covariance + systematic.map_and_mounting + systematic.sweep;
  } else if (prior.status.ok()) {
    placed.guess_map_T_base = prior.guess_map_T_base;
    placed.guess_covariance = prior.guess_covariance;
    carried_by = prior.carried_by;
    placed.interpolated = prior.older.has_value();
    if (prior.corrected) placed.uncorrected_guess_map_T_base = prior.odometry_T_base;
  } else {
    return;
  }
  if (carried_by.has_value()) {
    placed.motion_covariance = MotionCovariance(*placed.guess_map_T_base, *carried_by, options);
  }
  // Normalized as PoseFromProto does, so that the replay of a capture is exact.
  placed.guess_map_T_base->rotation.normalize();
  if (placed.uncorrected_guess_map_T_base.has_value())
    placed.uncorrected_guess_map_T_base->rotation.normalize();
}

}  // namespace

PlacedScan PlaceScan(const ScanParts& parts, const ScanSource& source, const ScanHints& hints,
                     ScanFacts& facts) {
  const AlignOptions& options = source.recipe.align;
  PlacedScan placed;
  placed.corrected_stamp_ns = options.sensor.CorrectStamp(facts.stamp_ns);
  SessionState::ScanPrior& prior = placed.prior;
  prior = source.state->TakePrior(placed.corrected_stamp_ns, hints.odom_T_base);
  facts.active = prior.active;
  if (hints.base_twist.has_value()) prior.base_twist = hints.base_twist;
  placed.deskew_twist = DeskewTwist(hints, prior.base_twist);
  if (prior.active) {
    SystematicError systematic = options.covariance.systematic;
    if (placed.deskew_twist.has_value()) systematic.skew_sigma_s = 0.0;
    placed.fusion = source.state->BeginFusion(placed.corrected_stamp_ns, prior, systematic);
  }
  placed.guess_map_T_base = hints.guess_map_T_base;
  placed.guess_covariance = hints.guess_covariance;
  if (!placed.guess_map_T_base.has_value()) GuessFromSession(options, placed);
  if (hints.motion_covariance.has_value()) placed.motion_covariance = hints.motion_covariance;
  if (!placed.motion_covariance.has_value()) placed.motion_covariance = placed.guess_covariance;
  if (!placed.guess_map_T_base.has_value()) facts.guess = prior.status;
  if (options.regularize) {
    placed.reference_map =
        hints.reference_map.has_value() ? hints.reference_map : prior.reference_map;
  }

  facts.has_map = false;
  auto map = parts.maps.Find(source.map, source.vehicle);
  placed.map_status = map.status();
  if (!map.ok()) return placed;
  placed.map = *std::move(map);
  auto profile = ProfileOnMap(options.profile, *placed.map.facts->build, source.map);
  placed.map_status = profile.status();
  if (!profile.ok()) return placed;
  placed.profile = *std::move(profile);
  const MapSnapshot& snapshot = *placed.map.snapshot;
  facts.has_map = !snapshot.tiles.empty();
  if (!placed.guess_map_T_base.has_value()) return placed;
  const Pose& guess = *placed.guess_map_T_base;
  const Bounds& bounds = snapshot.tiles.bounds();
  const Eigen::Array2d position = guess.translation.head<2>().array();
  facts.out_of_map_range = (position < bounds.min.head<2>().array()).any() ||
                           (position > bounds.max.head<2>().array()).any();
  Eigen::Vector3d velocity_map = Eigen::Vector3d::Zero();
  if (const auto& twist = placed.prior.base_twist; twist.has_value()) {
    velocity_map = guess.rotation * twist->linear_m_s;
  }
  placed.tiles_near = parts.residency_check.Record(placed.map, guess.translation, velocity_map);
  if (placed.tiles_near.absent() > 0) parts.metrics.scans_near_missing_tiles.Increment();
  return placed;
}

bool PlacedScan::CanTouchMap(double reach_m) const {
  const auto can_touch = [&](const std::optional<Pose>& guess) {
    return guess.has_value() &&
           CanTouch(map.snapshot->tiles.bounds(), *guess, reach_m, MatchMargin(profile));
  };
  return can_touch(guess_map_T_base) || can_touch(uncorrected_guess_map_T_base);
}

PriorKnowledge PlacedScan::MakePriorKnowledge(double odometry_drift) const {
  PriorKnowledge known;
  known.map_T_base_guess = guess_map_T_base;
  if (guess_map_T_base.has_value() && guess_covariance.has_value()) {
    known.priors.push_back({PriorSource::kGuess, *guess_map_T_base, *guess_covariance});
  }
  if (fusion.has_value() && fusion->known) {
    known.priors.push_back({PriorSource::kFilter, fusion->map_T_base, fusion->covariance});
  }
  const auto odometry = prior.anchor.Prior(odometry_drift);
  if (odometry.has_value()) known.priors.push_back(*odometry);
  return known;
}

namespace {

absl::Status Filter(const FilterOptions& options, Engine& engine, WorkClass work_class,
                    PointCloud& cloud, FilterCounts& counts) {
  VOXLOC_ASSIGN_OR_RETURN(auto filtered, engine.Filter(cloud, options, work_class));
  cloud = std::move(filtered.cloud);
  counts.not_finite += filtered.counts.not_finite;
  counts.out_of_limits += filtered.counts.out_of_limits;
  counts.thinned += filtered.counts.thinned;
  return absl::OkStatus();
}

// Where this sensor sits. nullopt: the identity.
std::optional<Pose> MountOf(const v1::SensorCloud& cloud, const ScanRecipe& recipe) {
  std::optional<Pose> mount = recipe.base_T_sensor;
  if (cloud.has_base_t_sensor()) {
    const auto own = MountFromProto(cloud.base_t_sensor());
    if (own.ok()) mount = *own;  // checked before
  }
  return recipe.CorrectedMount(mount);
}

// One cloud's points in the base frame. Where the scan is deskewed, the intensity channel, which is
// otherwise unused, carries each point's time through the filters.
absl::StatusOr<PointCloud> PrepareCloud(const v1::Scan& scan, const v1::SensorCloud& sensor_cloud,
                                        const ScanRecipe& recipe,
                                        const std::optional<Twist>& deskew_twist, Engine& engine,
                                        WorkClass work_class, PreparedScan& prepared) {
  FilterCounts& counts = prepared.counts;
  DecodedCloud decoded = DecodeScan(sensor_cloud.cloud());
  counts.received += decoded.received;
  counts.not_finite += decoded.not_finite;
  counts.out_of_limits += decoded.out_of_reach;
  PointCloud points = std::move(decoded.cloud);
  const std::optional<Pose> base_T_sensor = MountOf(sensor_cloud, recipe);
  const double offset_s = CloudOffsetS(scan, sensor_cloud);
  if (deskew_twist.has_value()) {
    const Twist sensor_twist = SensorTwist(*deskew_twist, base_T_sensor.value_or(Pose()));
    Deskew(sensor_twist, decoded.time_s, offset_s, points);
    points.intensity.assign(points.size(), static_cast<float>(offset_s));
    for (size_t i = 0; i < decoded.time_s.size(); ++i) points.intensity[i] += decoded.time_s[i];
  }
  if (recipe.filters.sensor.has_value()) {
    VOXLOC_TRY(Filter(*recipe.filters.sensor, engine, work_class, points, counts));
  }
  if (base_T_sensor.has_value()) points = Transform(*base_T_sensor, points);
  return points;
}

}  // namespace

std::optional<Twist> DeskewTwist(const ScanHints& hints, const std::optional<Twist>& base_twist) {
  return hints.has_point_times ? base_twist : std::nullopt;
}

absl::StatusOr<PreparedScan> PrepareScan(const v1::Scan& scan, const ScanRecipe& recipe,
                                         const std::optional<Twist>& deskew_twist, Engine& engine,
                                         WorkClass work_class) {
  PreparedScan prepared;
  prepared.deskewed = deskew_twist.has_value();
  PointCloud points;
  for (int i = 0; i < scan.clouds_size(); ++i) {
    VOXLOC_ASSIGN_OR_RETURN(auto cloud, PrepareCloud(scan, scan.clouds(i), recipe, deskew_twist,
                                                     engine, work_class, prepared));
    if (i == 0) {
      prepared.rays.sensor_position_base =
          MountOf(scan.clouds(0), recipe).value_or(Pose()).translation;
      points = std::move(cloud);
    } else {
      Append(cloud, points);
    }
  }
  if (recipe.filters.base.has_value()) {
    VOXLOC_TRY(Filter(*recipe.filters.base, engine, work_class, points, prepared.counts));
  }
  prepared.counts.kept = points.size();
  prepared.time_s = std::move(points.intensity);
  points.intensity.clear();
  prepared.base = std::make_shared<const PointCloud>(std::move(points));
  return prepared;
}

void JoinScans(absl::Span<const PlacedCloud> earlier, const ScanRecipe& recipe,
               PreparedScan& prepared) {
  prepared.joined_scans = 1 + earlier.size();
  if (earlier.empty()) return;
  for (const PlacedCloud& placed : earlier) prepared.joined_points += placed.cloud->size();
  const size_t points = prepared.base->size() + prepared.joined_points;
  const FilterOptions filter = recipe.filters.base.value_or(FilterOptions());
  PointCloud joint = AccumulateClouds(*prepared.base, earlier, filter.voxel_leaf_m);
  if (filter.max_points > 0) joint = RandomSample(joint, filter.max_points, filter.random_seed);
  prepared.rays.points_base = std::move(prepared.base);
  prepared.counts.thinned += points - joint.size();
  prepared.counts.kept = joint.size();
  prepared.base = std::make_shared<const PointCloud>(std::move(joint));
}

absl::Status RequirePoints(const FilterCounts& counts) {
  if (counts.kept > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no point is left of ", counts.received, ": ", counts.not_finite,
                   " not finite, ", counts.out_of_limits, " outside the limits of the filter"));
}

}  // namespace voxloc::server
