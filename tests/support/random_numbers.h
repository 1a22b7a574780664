// SPDX-License-Identifier: Apache-2.0
//
// Seeded random numbers that are the same with every standard library.

#ifndef VOXLOC_TESTS_SUPPORT_RANDOM_NUMBERS_H_
#define VOXLOC_TESTS_SUPPORT_RANDOM_NUMBERS_H_

#include <Eigen/Core>
#include <Eigen/QR>
#include <cmath>
#include <cstdint>
#include <random>

namespace voxloc {

class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : engine_(seed) {}

  double Uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  // Standard normal, by Box and Muller's method.
  double Normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform(0.0, 1.0)));
    return radius * std::cos(Uniform(0.0, 2.0 * M_PI));
  }
  // From 0 to count - 1.
  int Index(int count) { return static_cast<int>(Uniform(0.0, static_cast<double>(count))); }

  Eigen::Vector3d InBox(double half_extent) {
    const double x = Uniform(-half_extent, half_extent);
    const double y = Uniform(-half_extent, half_extent);
    return {x, y, Uniform(-half_extent, half_extent)};
  }
  Eigen::Vector3d NormalVector() {
    const double x = Normal();
    const double y = Normal();
    return {x, y, Normal()};
  }
  // An orthogonal matrix of no preferred direction.
  template <int kSize>
  Eigen::Matrix<double, kSize, kSize> Orthogonal() {
    // Of dynamic size, which compiles in a tenth of the time.
    Eigen::MatrixXd matrix(kSize, kSize);
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) matrix(i, j) = Normal();
    }
    return Eigen::HouseholderQR<Eigen::MatrixXd>(matrix).householderQ() *
           Eigen::MatrixXd::Identity(kSize, kSize);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_RANDOM_NUMBERS_H_
