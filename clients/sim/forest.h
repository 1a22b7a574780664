// SPDX-License-Identifier: Apache-2.0
//
// Forest: a world of trees on undulating ground with tracks through it. Trunks of conifers and of
// broad-leaved trees with their crowns, bushes, stumps and logs; hardly a plane anywhere.

#ifndef VOXLOC_CLIENTS_SIM_FOREST_H_
#define VOXLOC_CLIENTS_SIM_FOREST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct ForestOptions {
  uint64_t seed = 1;
  double size_m = 200.0;             // edge of the square that the tracks cross, [100, 1000]
  double relief_m = 6.0;             // from the lowest to the highest ground, about, [0, 20]
  double trees_per_hectare = 400.0;  // [0, 2000]
};

[[nodiscard]] absl::Status ValidateForestOptions(const ForestOptions& options);

// `sight_m` is how far a vehicle can see. Trees stand up to 40 m beyond the square, which is about
// how far one sees between them; the ground goes on by `sight_m`.
[[nodiscard]] absl::StatusOr<World> BuildForest(const ForestOptions& options, double sight_m);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FOREST_H_
