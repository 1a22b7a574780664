// SPDX-License-Identifier: Apache-2.0
// Worlds and scanners that several tests of the simulator use.
#pragma once

#include <cstdint>

#include "clients/sim/lidar.h"
#include "clients/sim/scenes.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

inline World SmallTown(uint64_t seed = 1, double size_m = 200.0) {
  TownOptions options;
  options.seed = seed;
  options.size_m = size_m;
  return *BuildTown(options);
}

inline size_t CountLabel(const World& world, Label label) {
  size_t count = 0;
  for (const Solid& solid : world.scene.solids()) count += solid.label == label ? 1 : 0;
  return count;
}

// Without noise and without dropped rays.
inline LidarOptions ExactOptions() {
  LidarOptions options;
  options.range_noise_m = 0.0;
  options.dropout = 0.0;
  return options;
}

// The sight of the scanner below, and of the worlds that are built for it.
constexpr double kSight_m = 60.0;

// Few exact rays, of which equal indices are equal rays.
inline Lidar ExactLidar() {
  LidarOptions options = ExactOptions();
  options.azimuth_steps = 360;
  options.max_range_m = kSight_m;
  options.keep_missing = true;
  return Lidar(options);
}

}  // namespace voxloc::sim
