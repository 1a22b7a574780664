// SPDX-License-Identifier: Apache-2.0
//
// Field: a world of open ground with tracks across it and little else. The flatter it is and the
// fewer posts and trees stand on it, the less a scan says about x, y and yaw; flat and bare,
// nothing.

#ifndef VOXLOC_CLIENTS_SIM_FIELD_H_
#define VOXLOC_CLIENTS_SIM_FIELD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct FieldOptions {
  uint64_t seed = 1;
  double size_m = 300.0;           // edge of the square that the tracks cross, [100, 2000]
  double relief_m = 0.5;           // from the lowest to the highest ground, about, [0, 20]
  double posts_per_hectare = 0.0;  // a third of them trees, [0, 100]
};

[[nodiscard]] absl::Status ValidateFieldOptions(const FieldOptions& options);

// `sight_m` is how far a vehicle can see: the ground goes on by that beyond the square.
[[nodiscard]] absl::StatusOr<World> BuildField(const FieldOptions& options, double sight_m);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FIELD_H_
