// SPDX-License-Identifier: Apache-2.0
//
// The options of scans: ScanRecipe, and its conversion from the wire, checked value by value. And
// profiles on the wire. Thread-safe: no shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_OPTIONS_H_
#define VOXLOC_SERVER_CONVERT_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/filters.h"
#include "core/engine/profile.h"
#include "core/estimate/calibration/sensor_calibration.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/pose.h"
#include "core/tracking/pose_buffer.h"
#include "core/tracking/scan_gate.h"
#include "core/tracking/verdict.h"
#include "server/config/config.h"
#include "voxloc/v1/options.pb.h"
#include "voxloc/v1/scan.pb.h"

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

// The validated options of a client for its scans, in types of the core. A plain value, shared
// read-only by all scans that use it.
struct ScanRecipe {
  AlignOptions align;
  ScanFilters filters;
  v1::OutputOptions output;
  std::optional<ScanProtectionOptions> protection;  // what `output` asks for
  std::optional<Pose> base_T_sensor;                // as the client says; nullopt: the identity
  EstimateOptions estimate;                         // what `align` and `output` make of it

  // The client's mount, corrected by the sensor's calibration. nullopt: the identity.
  [[nodiscard]] std::optional<Pose> CorrectedMount(const std::optional<Pose>& client_mount) const {
    if (!align.sensor.moves_mount()) return client_mount;
    return align.sensor.CorrectMount(client_mount.value_or(Pose()));
  }
};

// In the order of the contract.
inline constexpr CovarianceMethod kCovarianceMethods[] = {
    CovarianceMethod::kFixed, CovarianceMethod::kLaplace, CovarianceMethod::kMultiNdt,
    CovarianceMethod::kMultiNdtScore, CovarianceMethod::kCalibrated};

[[nodiscard]] absl::StatusOr<AlignOptions> AlignOptionsFromProto(
    const v1::AlignmentOptions& options, const Config& config);

[[nodiscard]] absl::StatusOr<ScanFilters> ScanFiltersFromProto(const v1::ScanFilter& filter);

// Sets recipe.output and recipe.protection.
[[nodiscard]] absl::Status OutputFromProto(const v1::OutputOptions& output, ScanRecipe& recipe);

// Sets recipe.estimate from `align` and `output`. InvalidArgument: these contradict each other.
[[nodiscard]] absl::Status CompleteRecipe(ScanRecipe& recipe);

[[nodiscard]] absl::StatusOr<ScanRecipe> RecipeFromProto(const Config& config,
                                                         const v1::ScanSetup& setup);

// InvalidArgument: longer than 128 bytes.
[[nodiscard]] absl::Status CheckVehicle(const std::string& vehicle);

void ProfileToProto(const Profile& profile, v1::Profile& proto);
void StageToProto(const Stage& stage, v1::ProfileStage& proto);
void CellStatisticsToProto(const CellStatistics& statistics, v1::CellStatistics& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_OPTIONS_H_
