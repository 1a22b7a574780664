// SPDX-License-Identifier: Apache-2.0
//
// RandomDraws: seeded random numbers. The standard fixes its generators but not its distributions,
// so these are written out: the same seed draws the same with every library. A plain value; one
// thread at a time per instance.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_RANDOM_DRAWS_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_RANDOM_DRAWS_H_

#include <cmath>
#include <cstdint>
#include <random>

namespace voxloc {

class RandomDraws {
 public:
  explicit RandomDraws(uint64_t seed) : generator_(seed) {}

  // Evenly in [low, high), in 2^53 steps.
  [[nodiscard]] double Uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(generator_() >> 11) * 0x1p-53);
  }

  // By Box and Muller; two draws each.
  [[nodiscard]] double Normal(double mean, double sigma) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform(0.0, 1.0)));
    return mean + sigma * radius * std::cos(Uniform(0.0, 2.0 * M_PI));
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_RANDOM_DRAWS_H_
