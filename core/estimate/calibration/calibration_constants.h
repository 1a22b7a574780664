// SPDX-License-Identifier: Apache-2.0
//
// The table of a sensor's constants that reading, writing and checking share.

#ifndef VOXLOC_CORE_ESTIMATE_CALIBRATION_CALIBRATION_CONSTANTS_H_
#define VOXLOC_CORE_ESTIMATE_CALIBRATION_CALIBRATION_CONSTANTS_H_

#include "core/estimate/calibration/sensor_calibration.h"

namespace voxloc {

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

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_CALIBRATION_CALIBRATION_CONSTANTS_H_
