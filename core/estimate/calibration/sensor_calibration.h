// SPDX-License-Identifier: Apache-2.0
//
// Calibration of a sensor: the errors that its scans have in common, a factor on the scan part of
// the covariance, and the constant offsets of its mounting and its clock. Each constant has its
// origin. Plain values; any number of threads may read one.

#ifndef VOXLOC_CORE_ESTIMATE_CALIBRATION_SENSOR_CALIBRATION_H_
#define VOXLOC_CORE_ESTIMATE_CALIBRATION_SENSOR_CALIBRATION_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/pose.h"

namespace voxloc {

template <typename Value>
struct CalibratedConstant {
  Value value;
  std::string origin;  // for people: measured how, on what; not empty
};

struct SensorCalibration {
  std::string name = "default";
  // The systematic part of the covariance: see SystematicError.
  CalibratedConstant<Eigen::Vector3d> position_sigma_m = {
      SystematicError().position_sigma_m,
      "how far the maps of the choosing list of simulated scenes are displaced"};
  CalibratedConstant<Eigen::Vector3d> rotation_sigma_rad = {
      SystematicError().rotation_sigma_rad,
      "0.2 degrees: what such a displacement turns answers by, and what extrinsic calibrations are "
      "good to"};
  CalibratedConstant<double> time_sigma_s = {
      SystematicError().time_sigma_s,
      "errors of skewed scans in displaced maps of the choosing list of simulated scenes, stamped "
      "in the middle of a sweep of 0.1 s"};
  CalibratedConstant<double> skew_sigma_s = {
      SystematicError().skew_sigma_s,
      "errors of skewed scans of the choosing list of simulated scenes; 0 if scans are deskewed"};
  // Factor on the scan part of the covariance.
  CalibratedConstant<double> scan_scale = {1.0, "the scan part as it is computed"};
  // Constant offsets, which nothing learns: added to the position of the mount, base axes, and
  // turned before its rotation (ROS roll, pitch, yaw about the base's axes).
  CalibratedConstant<Eigen::Vector3d> mount_offset_m = {Eigen::Vector3d::Zero(),
                                                        "the mount as sessions give it"};
  CalibratedConstant<Eigen::Vector3d> mount_rotation_rad = {Eigen::Vector3d::Zero(),
                                                            "the mount as sessions give it"};
  // Added to the stamps of scans; the sum is the time at which the base was at the scan's pose.
  CalibratedConstant<double> stamp_offset_s = {0.0, "stamps as they come"};

  [[nodiscard]] SystematicError systematic() const;
  [[nodiscard]] bool moves_mount() const {
    return !mount_offset_m.value.isZero(0.0) || !mount_rotation_rad.value.isZero(0.0);
  }
  // The mount with its offsets.
  [[nodiscard]] Pose CorrectMount(const Pose& base_T_sensor) const;
  [[nodiscard]] int64_t CorrectStamp(int64_t stamp_ns) const;
};

// Calls visit(key, constant, least, most) for each; the limits are those of each number in it.
// `Sensor` is SensorCalibration, const or not.
template <typename Sensor, typename Visit>
void VisitConstants(Sensor& sensor, const Visit& visit) {
  visit("systematic_position_sigma_m", sensor.position_sigma_m, 0.0, 100.0);
  visit("systematic_rotation_sigma_rad", sensor.rotation_sigma_rad, 0.0, 3.2);
  visit("systematic_time_sigma_s", sensor.time_sigma_s, 0.0, 10.0);
  visit("systematic_skew_sigma_s", sensor.skew_sigma_s, 0.0, 10.0);
  visit("scan_scale", sensor.scan_scale, 1e-3, 1e6);
  visit("mount_offset_m", sensor.mount_offset_m, -100.0, 100.0);
  visit("mount_rotation_rad", sensor.mount_rotation_rad, -3.2, 3.2);
  visit("stamp_offset_s", sensor.stamp_offset_s, -10.0, 10.0);
}

// InvalidArgument names the constant, its value and what is allowed: a name of 1 to 64 letters,
// digits, '.', '_' and '-'; position sigmas from 0 to 100 m, rotation sigmas from 0 to 3.2 rad,
// time and skew sigmas from 0 to 10 s, a factor from 1e-3 to 1e6; offsets of at most 100 m, 3.2 rad
// and 10 s; an origin for each.
[[nodiscard]] absl::Status ValidateSensorCalibration(const SensorCalibration& sensor);

// Sensors by name: always one named "default", which is the first.
class SensorCalibrations {
 public:
  SensorCalibrations() : sensors_(1) {}

  // Replaces the one of this name, or adds it.
  void Set(SensorCalibration sensor);

  // An empty name: "default". NotFound names the sensors that are known.
  [[nodiscard]] absl::StatusOr<SensorCalibration> Find(absl::string_view name) const;

  [[nodiscard]] const std::vector<SensorCalibration>& sensors() const { return sensors_; }
  [[nodiscard]] std::vector<std::string> Names() const;

 private:
  std::vector<SensorCalibration> sensors_;
};

// Files of sensor calibrations. JSON:
//
//   {"sensors": [{"name": "roof",
//                 "systematic_time_sigma_s": {"value": 0.004, "origin": "measured on ..."},
//                 "mount_offset_m": {"value": [0, 0, 0.01], "origin": "drawing 17"}}]}
//
// Each constant has a value (a number, or three along or about the base's axes) and an origin. A
// missing constant is that of the built-in sensor. An entry named "default" replaces the built-in
// sensor, which is that of sessions without a sensor name.
//
// Errors: NotFound and Unavailable of the file; InvalidArgument with the file, the path of the key
// ("sensors[0].scan_scale.value"), and what is wrong: no JSON, an unknown key with the nearest
// known one, a value of another type or outside its limits, no name, a name that occurs twice.

[[nodiscard]] absl::StatusOr<SensorCalibrations> ReadCalibrationFile(const std::string& path);

// Parses the content of such a file; `name` is used in error messages.
[[nodiscard]] absl::StatusOr<SensorCalibrations> ParseCalibrations(absl::string_view json,
                                                                   absl::string_view name);

// A text that reads back as the same values, with every constant of every sensor.
[[nodiscard]] std::string CalibrationsText(const SensorCalibrations& calibrations);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_CALIBRATION_SENSOR_CALIBRATION_H_
