// SPDX-License-Identifier: Apache-2.0
//
// What no scan can tell of its own error: the errors that neighbouring scans share. The map is bent
// by centimetres, the mounting of the sensor is known to a few millimetres and a fraction of a
// degree, stamps are late, and a scan that was not deskewed is bent as a whole. Residuals do not
// show any of these, so they are added to what the residuals do show.
//
// Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_SYSTEMATIC_ERROR_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_SYSTEMATIC_ERROR_H_

#include <Eigen/Core>
#include <optional>

#include "absl/status/status.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc {

// Standard deviations; of position and rotation along and about the base's axes, independent of
// each other.
struct SystematicError {
  // The maps of the choosing list (tests/bench/scenes) are displaced by 3 to 4 cm along each axis.
  Eigen::Vector3d position_sigma_m = {0.04, 0.04, 0.04};
  // 0.2 degrees: what such a displacement turns answers by, and what an extrinsic calibration is
  // good to.
  Eigen::Vector3d rotation_sigma_rad = {0.0035, 0.0035, 0.0035};
  // Of the time at which the base was where the scan shows it, against the scan's stamp: late
  // stamps, and sweeps that were not deskewed, whose points were measured at different times.
  double time_sigma_s = 0.01;
};

// About fixed map axes, order x y z rx ry rz. `base_twist`: of the base when the scan was taken;
// nullopt: not known, and nothing is added for the time.
[[nodiscard]] Matrix6 SystematicCovariance(const SystematicError& error, const Pose& map_T_base,
                                           const std::optional<Twist>& base_twist);

// InvalidArgument names the field and its value: each from 0 to 100 m, 0 to 3.2 rad, 0 to 10 s.
[[nodiscard]] absl::Status ValidateSystematicError(const SystematicError& error);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_SYSTEMATIC_ERROR_H_
