// SPDX-License-Identifier: Apache-2.0
//
// Map age: the world as it was when an old map of it was made. Other cars were parked, some
// structures were not built yet, and some walls and structures stood a little beside where they
// are.
//
// Pure functions.

#ifndef VOXLOC_CLIENTS_SIM_MAP_AGE_H_
#define VOXLOC_CLIENTS_SIM_MAP_AGE_H_

#include <cstddef>
#include <cstdint>

#include "clients/sim/options.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct MapAgeOptions {
  uint64_t seed = 1;
  // Share of the parking places that differ, [0, 1]. Of those taken, one half was free and one half
  // had another car; of those free, one half was taken.
  double changed_parking = 0.0;
  double missing_structures = 0.0;  // share of the structures that were not there, [0, 1]
  double moved_structures = 0.0;    // share of the structures and walls that moved since, [0, 1]
  double moved_by_m = 0.3;          // to either side along their frame's y, [0.05, 2]

  [[nodiscard]] bool IsNew() const {
    return changed_parking == 0.0 && missing_structures == 0.0 && moved_structures == 0.0;
  }
};

[[nodiscard]] OptionRows ListOptions(const MapAgeOptions& options);

struct MapAgeCounts {
  size_t changed_places = 0;
  size_t missing_structures = 0;
  size_t moved_structures = 0;
};

struct AgedWorld {
  World world;
  MapAgeCounts counts;
};

[[nodiscard]] AgedWorld WorldOfOldMap(const World& world, const MapAgeOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_MAP_AGE_H_
