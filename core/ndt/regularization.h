// SPDX-License-Identifier: Apache-2.0
//
// A pull towards a reference position along the vehicle's heading (GNSS regularisation): with
// L = (t - p) . (cos yaw, sin yaw) the score gains -lambda M L^2, M being the number of point-cell
// pairs and yaw the chart's third angle. Neither z nor the angles feel it.

#ifndef VOXLOC_CORE_NDT_REGULARIZATION_H_
#define VOXLOC_CORE_NDT_REGULARIZATION_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"

namespace voxloc::ndt {

// `weight` is lambda M. Adds to score, gradient and Hessian; returns what it added to the score.
VOXLOC_HD double AddRegularization(double reference_x, double reference_y, const double (&chart)[6],
                                   double weight, Derivatives& derivatives) {
  const double c = std::cos(chart[5]);
  const double s = std::sin(chart[5]);
  const double along = (reference_x - chart[0]) * c + (reference_y - chart[1]) * s;
  const double score = -weight * along * along;
  derivatives.score += score;
  derivatives.gradient[0] += 2.0 * weight * c * along;
  derivatives.gradient[1] += 2.0 * weight * s * along;
  derivatives.hessian.m[0][0] -= 2.0 * weight * c * c;
  derivatives.hessian.m[0][1] -= 2.0 * weight * c * s;
  derivatives.hessian.m[1][0] -= 2.0 * weight * c * s;
  derivatives.hessian.m[1][1] -= 2.0 * weight * s * s;
  return score;
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_REGULARIZATION_H_
