// SPDX-License-Identifier: Apache-2.0
//
// PlacedScan: where a scan is to be aligned, by what its client, its session and its map say before
// its points are looked at. Thread-safe: no shared state but the session's.

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
#include "server/session/scan_source.h"

namespace voxloc::server {

struct PlacedScan {
  int64_t shown_stamp_ns = 0;  // when the base was where the scan shows it
  SessionState::Place place;   // with the scan's own motion, where it brings one
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;
  bool interpolated = false;  // the guess is the session's
  // What the session's poses say, where a recovery has moved the guess away from it.
  std::optional<Pose> own_guess_map_T_base;
  std::optional<Eigen::Vector3d> reference_map;

  absl::Status map_status;  // not ok: why it cannot be aligned on the map
  MapView map;              // empty: there is none
  Profile profile;          // as it is on the map
  TileResidency::Counts tiles_near;

  // Whether a point as far from the base as this may have a cell near it at a guess.
  [[nodiscard]] bool CanTouchMap(double reach_m) const;
  // What is known of the scan's pose without the scan.
  [[nodiscard]] PriorKnowledge KnownBeforehand(double odometry_drift) const;
};

// Takes the scan's place from its session, and notes on the map that a vehicle is there. Adds to
// the facts, which have its stamp.
[[nodiscard]] PlacedScan PlaceScan(const ScanParts& parts, const ScanSource& source,
                                   const ScanHints& hints, ScanFacts& facts);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_PLACED_SCAN_H_
