// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/parzen_density.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A term smaller than the largest by this exponent (4e-18) does not change a sum.
constexpr double kNegligible = -40.0;

// The kernel's exponent.
double Exponent(const PlanarPose& a, const PlanarPose& b) {
  const double dx = (a.x_m - b.x_m) / kParzenWidthM;
  const double dy = (a.y_m - b.y_m) / kParzenWidthM;
  const double turned = std::fabs(a.yaw_rad - b.yaw_rad);
  const double dyaw = std::min(turned, 2.0 * M_PI - turned) / kParzenWidthRad;
  return -0.5 * (dx * dx + dy * dy + dyaw * dyaw);
}

// The logarithm of the kernel where its exponent is zero.
double LogPeak() {
  return -1.5 * std::log(2.0 * M_PI) - std::log(kParzenWidthM * kParzenWidthM * kParzenWidthRad);
}

}  // namespace

double LogParzenKernel(const PlanarPose& pose, const PlanarPose& center) {
  return LogPeak() + Exponent(pose, center);
}

double LogOfSum(double a, double b) {
  const double larger = std::max(a, b);
  const double difference = std::min(a, b) - larger;
  return difference > kNegligible ? larger + std::log1p(std::exp(difference)) : larger;
}

std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                  absl::Span<const PlanarPose> centers) {
  const double log_peak = LogPeak();
  std::vector<double> sums;
  sums.reserve(poses.size());
  std::vector<double> exponents(centers.size());
  for (const PlanarPose& pose : poses) {
    double largest = -kInfinity;
    for (size_t i = 0; i < centers.size(); ++i) {
      exponents[i] = Exponent(pose, centers[i]);
      largest = std::max(largest, exponents[i]);
    }
    double sum = 0.0;  // relative to the largest
    for (const double exponent : exponents) {
      if (exponent - largest > kNegligible) sum += std::exp(exponent - largest);
    }
    // Nothing but infinite distances leave no sum.
    sums.push_back(sum > 0.0 ? log_peak + largest + std::log(sum) : -kInfinity);
  }
  return sums;
}

}  // namespace voxloc
