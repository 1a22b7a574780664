// SPDX-License-Identifier: Apache-2.0
//
// The inputs of work on scans: the parts of the server that it depends on, where a scan is to be
// aligned (PlacedScan), and its points in the base frame (PreparedScan). Thread-safe: no shared
// state but the session's.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_INPUTS_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_INPUTS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/motion.h"
#include "core/engine/engine.h"
#include "core/engine/failover/failover_engine.h"
#include "core/engine/profile.h"
#include "core/estimate/quality/scan_shape.h"
#include "core/geometry/twist.h"
#include "core/map/tile_catalogue.h"
#include "core/tracking/scan_gate.h"
#include "core/tracking/verdict.h"
#include "server/capture/capture_recorder.h"
#include "server/capture/map_update_recorder.h"
#include "server/config/settings.h"
#include "server/convert/options.h"
#include "server/convert/scan.h"
#include "server/lifecycle/engine_watch.h"
#include "server/maps/fit/tile_fits.h"
#include "server/maps/last_poses.h"
#include "server/maps/residency/residency_check.h"
#include "server/maps/resident_maps.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/span_exporter.h"
#include "server/scheduling/limits.h"
#include "server/scheduling/work_queue.h"
#include "server/session/session_state.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// They outlive the work and are thread-safe.
struct WorkParts {
  FailoverEngine& engine;
  const EngineFaults& engine_faults;
  const ResidentMaps& maps;
  ResidencyCheck& residency_check;
  const LiveConfig& live_config;
  const Metrics& metrics;
};

// The parts for scans that are tracked.
struct ScanParts : WorkParts {
  LastPoses& last_poses;
  FitSampler& fit_sampler;
  Admission& recoveries;
  WorkQueue& searching;  // runs recoveries
  CaptureRecorder& captures;
  MapUpdateRecorder& map_update;
  SpanExporter* spans;  // null: spans are not exported
};

// PlacedScan: where a scan is to be aligned: guess, map and profile, as known before its points are
// decoded.
struct PlacedScan {
  int64_t corrected_stamp_ns = 0;     // the scan's stamp, corrected by the sensor's time offset
  SessionState::ScanPrior prior;      // with the scan's own motion, where it brings one
  std::optional<Twist> deskew_twist;  // see DeskewTwist
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;
  std::optional<Matrix6> motion_covariance;  // see AlignJob::prior_covariance
  bool interpolated = false;                 // the guess was interpolated from the session's poses
  // Where the session fuses scans and odometry: what its filter predicts.
  std::optional<PoseFusion::Prediction> fusion;
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

// PreparedScan: the points of a scan in the base frame, which can be aligned. They are prepared by
// a worker, not by gRPC's threads.
struct PreparedScan {
  std::shared_ptr<const PointCloud> base;  // may be empty
  FilterCounts counts;
  bool deskewed = false;  // whether points were moved to the scan's stamp
  // For each point of this scan (not of joined ones), seconds from its stamp. Empty: not deskewed.
  std::vector<float> time_s;
  ScanRays rays;             // of the first cloud's sensor
  size_t joined_scans = 0;   // this one included; 0: it is not to be joined
  size_t joined_points = 0;  // of the earlier ones
};

// The motion by which a scan is deskewed: the base's, where it is known and the points have times.
[[nodiscard]] std::optional<Twist> DeskewTwist(const ScanHints& hints,
                                               const std::optional<Twist>& base_twist);

// Decodes the clouds of a scan that CheckScanClouds has passed, moves their points to the scan's
// stamp where there is a motion to deskew by, filters them by the engine and joins them in the base
// frame. Errors are those of Engine::Filter.
[[nodiscard]] absl::StatusOr<PreparedScan> PrepareScan(const v1::Scan& scan,
                                                       const ScanRecipe& recipe,
                                                       const std::optional<Twist>& deskew_twist,
                                                       Engine& engine, WorkClass work_class);

// Joins the scan, which has points, with earlier ones: afterwards `base` is the joint cloud,
// thinned as the recipe says, and the rays are still those of the scan alone.
void JoinScans(absl::Span<const PlacedCloud> earlier, const ScanRecipe& recipe,
               PreparedScan& prepared);

// InvalidArgument, with the counts, when nothing is left of a scan.
[[nodiscard]] absl::Status RequirePoints(const FilterCounts& counts);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_INPUTS_H_
