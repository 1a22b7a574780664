// SPDX-License-Identifier: Apache-2.0
//
// Motorway: a world of one road with two carriageways, slightly bent, on embankments and in
// cuttings. Guard rails, gantries, bridges, noise walls, delineators and trees stand along it.
// Rails and posts repeat every few metres.

#ifndef VOXLOC_CLIENTS_SIM_MOTORWAY_H_
#define VOXLOC_CLIENTS_SIM_MOTORWAY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct MotorwayOptions {
  uint64_t seed = 1;
  double length_m = 1500.0;  // that can be driven, [300, 3000]
  double relief_m = 8.0;     // of the land on both sides, about, [0, 20]
};

[[nodiscard]] absl::Status ValidateMotorwayOptions(const MotorwayOptions& options);

// `sight_m` is how far a vehicle can see: the road goes on by more than that behind both ends of
// what can be driven.
[[nodiscard]] absl::StatusOr<World> BuildMotorway(const MotorwayOptions& options, double sight_m);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_MOTORWAY_H_
