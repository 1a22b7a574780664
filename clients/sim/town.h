// SPDX-License-Identifier: Apache-2.0
//
// Town: a procedural town. Streets on an irregular grid, houses along them, pavements, parked cars,
// street furniture, gardens and trees, on a ground that rises and falls. Everything follows from
// the options; the same options give the same town on every machine.

#ifndef VOXLOC_CLIENTS_SIM_TOWN_H_
#define VOXLOC_CLIENTS_SIM_TOWN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct TownOptions {
  uint64_t seed = 1;
  double size_m = 300.0;             // edge of the square, [100, 5000]
  double street_spacing_m = 60.0;    // from junction to junction, about, [50, 300]
  double missing_streets = 0.25;     // share of the inner streets left out, [0, 1]
  double building_density = 0.85;    // share of the plots that are built on, [0, 1]
  double tree_density = 0.5;         // share of the places for trees that have one, [0, 1]
  double parked_car_density = 0.45;  // share of the parking places taken, [0, 1]
  double relief_m = 4.0;             // from the lowest to the highest ground, about, [0, 20]
};

[[nodiscard]] absl::Status ValidateTownOptions(const TownOptions& options);

[[nodiscard]] absl::StatusOr<World> BuildTown(const TownOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_TOWN_H_
