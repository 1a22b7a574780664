// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/parzen_density.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A term smaller than the largest by this exponent (4e-18) does not change a sum.
constexpr double kNegligible = -40.0;

// Poses in widths of the kernel.
struct ScaledPoses {
  explicit ScaledPoses(absl::Span<const PlanarPose> poses)
      : x(poses.size()), y(poses.size()), yaw(poses.size()) {
    for (size_t i = 0; i < poses.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      x[row] = poses[i].x_m / kParzenWidthM;
      y[row] = poses[i].y_m / kParzenWidthM;
      yaw[row] = poses[i].yaw_rad / kParzenWidthRad;
    }
  }

  Eigen::ArrayXd x;
  Eigen::ArrayXd y;
  Eigen::ArrayXd yaw;
};

// The logarithm of the kernel where its exponent is zero.
double LogPeak() {
  return -1.5 * std::log(2.0 * M_PI) - std::log(kParzenWidthM * kParzenWidthM * kParzenWidthRad);
}

}  // namespace

double LogOfSum(double a, double b) {
  const double larger = std::max(a, b);
  const double difference = std::min(a, b) - larger;
  return difference > kNegligible ? larger + std::log1p(std::exp(difference)) : larger;
}

std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                  absl::Span<const PlanarPose> centers) {
  if (centers.empty()) return std::vector<double>(poses.size(), -kInfinity);
  constexpr double kTurn = 2.0 * M_PI / kParzenWidthRad;
  const double log_peak = LogPeak();
  const ScaledPoses from(centers);
  const ScaledPoses to(poses);
  Eigen::ArrayXd turned(from.yaw.size());
  Eigen::ArrayXd exponents(from.yaw.size());
  std::vector<double> sums;
  sums.reserve(poses.size());
  for (Eigen::Index i = 0; i < to.x.size(); ++i) {
    turned = (from.yaw - to.yaw[i]).abs();
    exponents = -0.5 * ((from.x - to.x[i]).square() + (from.y - to.y[i]).square() +
                        turned.min(kTurn - turned).square());
    const double largest = exponents.maxCoeff();
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
