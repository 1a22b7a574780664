// SPDX-License-Identifier: Apache-2.0
//
// Hall: a world inside one building: a warehouse or a factory hall. Aisles in a grid between blocks
// of racks, machines or stacked goods; columns, gates, pipes and roof beams. Many of these repeat
// along the hall.

#ifndef VOXLOC_CLIENTS_SIM_HALL_H_
#define VOXLOC_CLIENTS_SIM_HALL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct HallOptions {
  uint64_t seed = 1;
  double width_m = 40.0;   // from wall to wall, [20, 60]
  double length_m = 50.0;  // from wall to wall, [25, 80]
  double height_m = 8.0;   // from floor to roof, [5, 15]
};

// A width from 20 to 60 m, a length from 25 to 80 m and a height from 6 to 12 m.
[[nodiscard]] HallOptions SeededHall(uint64_t seed);

[[nodiscard]] absl::Status ValidateHallOptions(const HallOptions& options);

[[nodiscard]] absl::StatusOr<World> BuildHall(const HallOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_HALL_H_
