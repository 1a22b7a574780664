// SPDX-License-Identifier: Apache-2.0
//
// Garage: a world of two storeys with a ceiling at about 2.4 m. On each storey an aisle runs around
// two ramps that lead from one storey to the other; cars stand in bays along the aisle. Both
// storeys have the same walls, columns, beams and aisles; cars, pipes and rooms differ.

#ifndef VOXLOC_CLIENTS_SIM_GARAGE_H_
#define VOXLOC_CLIENTS_SIM_GARAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct GarageOptions {
  uint64_t seed = 1;
  double parked_car_density = 0.6;  // share of the bays taken, [0, 1]
};

[[nodiscard]] absl::Status ValidateGarageOptions(const GarageOptions& options);

// The lower floor is the ground at zero; the upper one is 2.6 to 2.8 m above it.
[[nodiscard]] absl::StatusOr<World> BuildGarage(const GarageOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_GARAGE_H_
