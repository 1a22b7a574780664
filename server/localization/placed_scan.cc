// SPDX-License-Identifier: Apache-2.0

#include "server/localization/placed_scan.h"

#include <utility>

#include "core/engine/align.h"

namespace voxloc::server {
PlacedScan PlaceScan(const ScanParts& parts, const ScanSource& source, const ScanHints& hints,
                     ScanFacts& facts) {
  PlacedScan placed;
  placed.corrected_stamp_ns = source.recipe.align.sensor.CorrectStamp(facts.stamp_ns);
  SessionState::ScanPrior& prior = placed.prior;
  prior = source.state->TakePrior(placed.corrected_stamp_ns, hints.odom_T_base);
  facts.active = prior.active;
  if (hints.base_twist.has_value()) prior.base_twist = hints.base_twist;
  placed.guess_map_T_base = hints.guess_map_T_base;
  placed.guess_covariance = hints.guess_covariance;
  if (!placed.guess_map_T_base.has_value() && prior.status.ok()) {
    placed.guess_map_T_base = prior.guess_map_T_base;
    placed.guess_covariance = prior.guess_covariance;
    placed.interpolated = prior.older.has_value();
    if (prior.corrected) placed.uncorrected_guess_map_T_base = prior.odometry_T_base;
    // Normalized as PoseFromProto does, so that the replay of a capture is exact.
    placed.guess_map_T_base->rotation.normalize();
    if (placed.uncorrected_guess_map_T_base.has_value())
      placed.uncorrected_guess_map_T_base->rotation.normalize();
  }
  if (!placed.guess_map_T_base.has_value()) facts.guess = prior.status;
  if (source.recipe.align.regularize) {
    placed.reference_map =
        hints.reference_map.has_value() ? hints.reference_map : prior.reference_map;
  }

  facts.has_map = false;
  auto map = parts.maps.Find(source.map, source.vehicle);
  placed.map_status = map.status();
  if (!map.ok()) return placed;
  placed.map = *std::move(map);
  auto profile = ProfileOnMap(source.recipe.align.profile, *placed.map.facts->build, source.map);
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
  const auto odometry = prior.anchor.Prior(odometry_drift);
  if (odometry.has_value()) known.priors.push_back(*odometry);
  return known;
}

}  // namespace voxloc::server
