// SPDX-License-Identifier: Apache-2.0
//
// Kernel densities over planar poses: a product of three normal densities around every centre, with
// Autoware's widths, yaw on the circle. Height and tilt do not count: they follow from the ground.
// Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PARZEN_DENSITY_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PARZEN_DENSITY_H_

#include <vector>

#include "absl/types/span.h"

namespace voxloc {

struct PlanarPose {
  double x_m = 0.0;
  double y_m = 0.0;
  double yaw_rad = 0.0;  // [-pi, pi]
};

// Standard deviations of a kernel.
constexpr double kParzenWidthM = 0.25;  // along x and y
constexpr double kParzenWidthRad = 2.5 * 3.14159265358979323846 / 180.0;

// log(exp(a) + exp(b)), without overflow.
[[nodiscard]] double LogOfSum(double a, double b);

// All poses against all centres: the logarithm of the sum of the kernels, each of which integrates
// to 1, at every pose. Minus infinity without centres.
[[nodiscard]] std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                                absl::Span<const PlanarPose> centers);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PARZEN_DENSITY_H_
