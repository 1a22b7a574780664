// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/covariance.h"

#include <cmath>

namespace voxloc {

Matrix6 FixedAxesFromChartJacobian(double roll, double pitch) {
  Matrix6 jacobian = Matrix6::Identity();
  const double sr = std::sin(roll);
  const double cr = std::cos(roll);
  const double sp = std::sin(pitch);
  const double cp = std::cos(pitch);
  jacobian.block<3, 1>(3, 3) << 1.0, 0.0, 0.0;
  jacobian.block<3, 1>(3, 4) << 0.0, cr, sr;
  jacobian.block<3, 1>(3, 5) << sp, -sr * cp, cr * cp;
  return jacobian;
}

Matrix6 FixedAxesCovarianceFromChart(const Matrix6& chart_covariance, double roll, double pitch) {
  const Matrix6 jacobian = FixedAxesFromChartJacobian(roll, pitch);
  return jacobian * chart_covariance * jacobian.transpose();
}

Matrix6 RotateCovariance(const Eigen::Matrix3d& a_R_b, const Matrix6& covariance_b) {
  Matrix6 rotation = Matrix6::Zero();
  rotation.topLeftCorner<3, 3>() = a_R_b;
  rotation.bottomRightCorner<3, 3>() = a_R_b;
  return rotation * covariance_b * rotation.transpose();
}

}  // namespace voxloc
