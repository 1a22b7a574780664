// SPDX-License-Identifier: Apache-2.0
//
// Random: the simulator's only random number generator, a hash of a counter and a key.
//
// A stream is named by a seed and up to three numbers (a scan, a ring, a step; a house, a face), so
// any part of a simulation can be drawn by itself, in any order, on any thread, with the same
// result. Distributions are written out here because those of the standard library differ between
// implementations. A plain value, cheap to construct; one thread at a time per instance.

#ifndef VOXLOC_CLIENTS_SIM_RANDOM_H_
#define VOXLOC_CLIENTS_SIM_RANDOM_H_

#include <cmath>
#include <cstdint>

namespace voxloc::sim {

// The finaliser of SplitMix64: a bijection of 64-bit words in which every bit depends on every bit.
[[nodiscard]] inline uint64_t HashWord(uint64_t word) {
  word ^= word >> 30;
  word *= 0xbf58476d1ce4e5b9ULL;
  word ^= word >> 27;
  word *= 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0)
      : state_(HashWord(HashWord(HashWord(HashWord(seed + kStep) + a * kStep + 1) + b * kStep + 2) +
                        c * kStep + 3)) {}

  [[nodiscard]] uint64_t Next() {
    state_ += kStep;
    return HashWord(state_);
  }

  // In [0, 1), 53 bits.
  [[nodiscard]] double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  [[nodiscard]] double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  [[nodiscard]] bool Chance(double probability) { return Uniform() < probability; }

  // In [low, high], both included.
  [[nodiscard]] int UniformInt(int low, int high) {
    const double span = static_cast<double>(high) - low + 1.0;
    return low + static_cast<int>(Uniform() * span);
  }

  // Zero mean, by Box and Muller; two draws each.
  [[nodiscard]] double Normal(double sigma) {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform()));
    return sigma * radius * std::cos(kTwoPi * Uniform());
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  uint64_t state_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_RANDOM_H_
