// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/relief.h"

#include <cmath>
#include <vector>

#include "clients/sim/pi.h"

namespace voxloc::sim {
namespace {

constexpr double kReliefGroundCell_m = 2.0;

}  // namespace

Ground RollingGround(double half_size_m, double relief_m, Random random) {
  struct Wave {
    double amplitude;
    double kx;
    double ky;
    double phase;
  };
  std::vector<Wave> waves;
  // Long waves carry most of the height; the slopes stay those of streets.
  for (const double wavelength : {260.0, 210.0, 160.0, 110.0, 75.0}) {
    const double heading = random.Uniform(0.0, 2.0 * kPi);
    const double k = 2.0 * kPi / wavelength;
    waves.push_back({relief_m * wavelength / 1630.0, k * std::cos(heading), k * std::sin(heading),
                     random.Uniform(0.0, 2.0 * kPi)});
  }
  const auto height = [&](double x, double y) {
    double sum = 0.0;
    for (const Wave& wave : waves) {
      sum += wave.amplitude * std::sin(wave.kx * x + wave.ky * y + wave.phase);
    }
    return sum;
  };
  const double middle = height(0.0, 0.0);
  return Ground(half_size_m, kReliefGroundCell_m,
                [&](double x, double y) { return height(x, y) - middle; });
}

}  // namespace voxloc::sim
