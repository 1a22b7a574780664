// SPDX-License-Identifier: Apache-2.0
//
// The odometry of a drive: what the vehicle's wheels and inertial unit say about its motion, each
// step from scan to scan with the errors of its sensors. Pure functions.

#ifndef VOXLOC_CLIENTS_SIM_ODOMETRY_H_
#define VOXLOC_CLIENTS_SIM_ODOMETRY_H_

#include <cstdint>
#include <vector>

#include "clients/sim/drive.h"
#include "clients/sim/options.h"
#include "core/geometry/pose.h"

namespace voxloc::sim {

struct OdometryOptions {
  uint64_t seed = 1;
  // Share of the way that is counted too much, [-0.5, 0.5]. Wear, load and pressure change the
  // radius of a tyre by about 1 %.
  double scale_error = 0.01;
  // Standard deviations of the noise of a step, along and about each axis of the base. 2 mm is the
  // rounding of an encoder with 300 ticks a turn on a wheel of 2 m; 0.5 mrad from scan to scan at
  // 10 Hz is the noise of a coarse gyroscope, 5 deg per root hour.
  double position_noise_m = 0.002;     // [0, 1]
  double rotation_noise_rad = 0.0005;  // [0, 0.1]
  double yaw_bias_radps = 0.0;         // added to the yaw rate, positive to the left, [-0.1, 0.1]
  // Slips: lengths of way on which the wheels spin or lock. Each stretch of 1000 m / slips_per_km
  // has one, somewhere in it; [0, 50], so that the longest slip, of 1.5 times 10 m, fits.
  double slips_per_km = 0.0;
  // A slip is 0.5 to 1.5 times as long, [0.1, 10]. 4 m is the depth of a pedestrian crossing, whose
  // paint is slippery when wet.
  double slip_length_m = 4.0;
  // Share of that way that is counted too much or too little, as likely the one as the other,
  // [0, 1]. At 0.2 tyres pull most, so anti-lock brakes and traction controls keep slips there.
  double slip_size = 0.2;
};

[[nodiscard]] OptionRows ListOptions(const OdometryOptions& options);

struct WheelSlip {
  double from_m = 0.0;  // of the way since the first scan
  double to_m = 0.0;
  double share = 0.0;  // of this way that is counted too much; negative: too little
};

// The slip in the stretch with the given number, counted from 0; needs slips_per_km over 0.
[[nodiscard]] WheelSlip SlipInStretch(const OdometryOptions& options, uint64_t stretch);

// odom_T_base at each scan; the first is the identity. `options` must be valid. The odometry of the
// first scans of a drive does not depend on those that follow.
[[nodiscard]] std::vector<Pose> OdometryOf(const std::vector<DrivePose>& drive,
                                           const OdometryOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_ODOMETRY_H_
