// SPDX-License-Identifier: Apache-2.0
//
// Covariances of poses, and the one conversion between the chart's derivatives and what crosses the
// wire.
//
// A pose covariance is 6x6, order x y z rx ry rz, metres and radians. Its rotation part is about
// the map's fixed axes (a left perturbation: R = exp([r]x) R_estimate), as ROS has it. The chart's
// derivatives are with respect to (x, y, z, roll, pitch, yaw) of euler.h. Both agree to first order
// through the matrix below.

#ifndef VOXLOC_CORE_GEOMETRY_COVARIANCE_H_
#define VOXLOC_CORE_GEOMETRY_COVARIANCE_H_

#include <Eigen/Core>

namespace voxloc {

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

// d(x, y, z, rx, ry, rz) / d(x, y, z, roll, pitch, yaw) at the given chart angles: identity for the
// translation; the columns ex, Rx ey, Rx Ry ez for the rotation (R = Rx Ry Rz).
[[nodiscard]] Matrix6 FixedAxesFromChartJacobian(double roll, double pitch);

// A covariance of chart coordinates as one about fixed map axes: J C J^T.
[[nodiscard]] Matrix6 FixedAxesCovarianceFromChart(const Matrix6& chart_covariance, double roll,
                                                   double pitch);

// The covariance with both blocks expressed in axes rotated by a_R_b: diag(R, R) C diag(R, R)^T.
[[nodiscard]] Matrix6 RotateCovariance(const Eigen::Matrix3d& a_R_b, const Matrix6& covariance_b);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_COVARIANCE_H_
