// SPDX-License-Identifier: Apache-2.0
//
// ScanRecipe: the validated options of a client for its scans, in types of the core. A plain value,
// shared read-only by all scans that use it.

#ifndef VOXLOC_SERVER_CONVERT_SCAN_RECIPE_H_
#define VOXLOC_SERVER_CONVERT_SCAN_RECIPE_H_

#include <optional>

#include "core/cloud/filters.h"
#include "core/engine/profile.h"
#include "core/estimate/calibration/sensor_calibration.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/pose.h"
#include "core/tracking/pose_buffer.h"
#include "core/tracking/scan_gate.h"
#include "core/tracking/verdict.h"

namespace voxloc::server {

struct AlignOptions {
  Profile profile;  // overrides applied, cell sizes its own
  AcceptanceLimits limits;
  bool regularize = true;  // where a scan has a reference position
  SensorCalibration sensor;
  CovarianceOptions covariance;
  GateOptions gate;
  double rival_confidence = kDoubtfulConfidence;  // see EstimateOptions
  // A usual one of wheels and an inertial unit; the best lidar odometry of the KITTI benchmark has
  // 0.005, vision 0.01 to 0.03.
  double odometry_drift = 0.02;
  double guess_timeout_s = PoseBufferOptions().timeout_s;
  double guess_distance_tolerance_m = PoseBufferOptions().distance_tolerance_m;
};

// What is kept of a scan: first by distance from the sensor, then in the base frame.
struct ScanFilters {
  std::optional<FilterOptions> sensor;
  std::optional<FilterOptions> base;
};

struct OutputChoice {
  bool trace = false;
  bool point_scores = false;
  bool point_colors = false;
  bool aligned_cloud = false;
  bool hessian = false;
  bool diagnostics = false;
  bool confidence = true;
  std::optional<double> no_ground_z_margin_m;
  bool no_ground_cloud = false;
  std::optional<ScanProtectionOptions> protection;
};

struct ScanRecipe {
  AlignOptions align;
  ScanFilters filters;
  OutputChoice output;
  std::optional<Pose> base_T_sensor;  // as the client says; nullopt: the identity
  EstimateOptions estimate;           // what `align` and `output` make of it

  // The client's mount, corrected by the sensor's calibration. nullopt: the identity.
  [[nodiscard]] std::optional<Pose> CorrectedMount(const std::optional<Pose>& client_mount) const {
    if (!align.sensor.moves_mount()) return client_mount;
    return align.sensor.CorrectMount(client_mount.value_or(Pose()));
  }
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_SCAN_RECIPE_H_
