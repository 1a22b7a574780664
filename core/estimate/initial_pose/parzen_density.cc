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

// In widths of the kernel.
struct ScaledPose {
  double x;
  double y;
  double yaw;
};

ScaledPose Scale(const PlanarPose& pose) {
  return {pose.x_m / kParzenWidthM, pose.y_m / kParzenWidthM, pose.yaw_rad / kParzenWidthRad};
}

// Of the kernel.
double Exponent(const ScaledPose& a, const ScaledPose& b) {
  constexpr double kTurn = 2.0 * M_PI / kParzenWidthRad;
  const double dx = a.x - b.x;
  const double dy = a.y - b.y;
  const double turned = std::fabs(a.yaw - b.yaw);
  const double dyaw = std::min(turned, kTurn - turned);
  return -0.5 * (dx * dx + dy * dy + dyaw * dyaw);
}

// The logarithm of the kernel where its exponent is zero.
double LogPeak() {
  return -1.5 * std::log(2.0 * M_PI) - std::log(kParzenWidthM * kParzenWidthM * kParzenWidthRad);
}

}  // namespace

double LogParzenKernel(const PlanarPose& pose, const PlanarPose& center) {
  return LogPeak() + Exponent(Scale(pose), Scale(center));
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
  std::vector<ScaledPose> scaled_centers;
  for (const PlanarPose& center : centers) scaled_centers.push_back(Scale(center));
  std::vector<double> exponents(centers.size());
  for (const PlanarPose& pose : poses) {
    const ScaledPose scaled = Scale(pose);
    double largest = -kInfinity;
    for (size_t i = 0; i < centers.size(); ++i) {
      exponents[i] = Exponent(scaled, scaled_centers[i]);
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
