// SPDX-License-Identifier: Apache-2.0
//
// PlacedScan: where a scan is to be aligned: guess, map and profile, as known before its points are
// decoded. Thread-safe: no shared state but the session's.

#ifndef VOXLOC_SERVER_LOCALIZATION_PLACED_SCAN_H_
#define VOXLOC_SERVER_LOCALIZATION_PLACED_SCAN_H_

#include <Eigen/Core>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "core/engine/profile.h"
#include "core/map/tile_residency.h"
#include "core/tracking/scan_gate.h"
#include "core/tracking/verdict.h"
#include "server/convert/scan.h"
#include "server/localization/scan_parts.h"
#include "server/session/session_state.h"

namespace voxloc::server {

struct PlacedScan {
  int64_t corrected_stamp_ns = 0;  // the scan's stamp, corrected by the sensor's time offset
  SessionState::ScanPrior prior;   // with the scan's own motion, where it brings one
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;
  bool interpolated = false;  // the guess was interpolated from the session's poses
  // The guess by the session's poses alone, where a recovery has corrected `guess_map_T_base`.
  std::optional<Pose> uncorrected_guess_map_T_base;
  std::optional<Eigen::Vector3d> reference_map;

  absl::Status map_status;  // not ok: why it cannot be aligned on the map
  MapView map;              // empty: there is none
  Profile profile;          // as it is on the map
  TileResidency::Counts tiles_near;

  // Whether a point at distance `reach_m` from the base can have a map cell near it at a guess.
  [[nodiscard]] bool CanTouchMap(double reach_m) const;
  // The prior knowledge of the pose: guess and odometry.
  [[nodiscard]] PriorKnowledge MakePriorKnowledge(double odometry_drift) const;
};

// Places the scan by its hints and its session, and records the vehicle's position for the
// residency of tiles. Completes `facts`, whose stamp must be set.
[[nodiscard]] PlacedScan PlaceScan(const ScanParts& parts, const ScanSource& source,
                                   const ScanHints& hints, ScanFacts& facts);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_PLACED_SCAN_H_
