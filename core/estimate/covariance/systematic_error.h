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

#include "absl/status/status.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Standard deviations along and about the base's axes; independent of each other.
struct SystematicError {
  // The maps of the choosing list (tests/bench/scenes) are displaced by 3 to 4 cm along each axis.
  Eigen::Vector3d position_sigma_m = {0.04, 0.04, 0.04};
  // 0.2 degrees: what such a displacement turns answers by, and what an extrinsic calibration is
  // good to.
  Eigen::Vector3d rotation_sigma_rad = {0.0035, 0.0035, 0.0035};
};

// About fixed map axes, order x y z rx ry rz.
[[nodiscard]] Matrix6 SystematicCovariance(const SystematicError& error, const Pose& map_T_base);

// InvalidArgument names the field and its value: each from 0 to 100 m, or 0 to 3.2 rad.
[[nodiscard]] absl::Status ValidateSystematicError(const SystematicError& error);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_SYSTEMATIC_ERROR_H_
