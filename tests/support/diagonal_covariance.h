// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_TESTS_SUPPORT_DIAGONAL_COVARIANCE_H_
#define VOXLOC_TESTS_SUPPORT_DIAGONAL_COVARIANCE_H_

#include "core/geometry/covariance.h"

namespace voxloc {

// Of a pose, with the same standard deviation along all axes and the same about all.
inline Matrix6 DiagonalCovariance(double sigma_m, double sigma_rad) {
  Matrix6 covariance = Matrix6::Zero();
  covariance.diagonal().head<3>().setConstant(sigma_m * sigma_m);
  covariance.diagonal().tail<3>().setConstant(sigma_rad * sigma_rad);
  return covariance;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_DIAGONAL_COVARIANCE_H_
