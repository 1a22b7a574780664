// SPDX-License-Identifier: Apache-2.0
//
// Passages: worlds that look the same from everywhere along their axis. A straight street between
// two smooth walls, open above (a corridor) or under a vault (a tunnel), without an end in sight.
// Every surface is parallel to the axis, so a scan says nothing about the position along it.

#ifndef VOXLOC_CLIENTS_SIM_PASSAGE_H_
#define VOXLOC_CLIENTS_SIM_PASSAGE_H_

#include <Eigen/Core>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/sim/frame.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

enum class Roof { kNone, kVault };

struct PassageOptions {
  double length_m = 1000.0;   // that can be driven, [50, 3000]
  double width_m = 10.0;      // from wall to wall, [8, 40]
  double height_m = 6.0;      // of the walls, or of the vault's crown, [3, 30]
  double slope = 0.0;         // rise of the axis, m per m, [-0.15, 0.15]
  double heading_deg = 20.0;  // of the axis, counterclockwise from x, [-180, 180]
};

// A corridor 8 to 14 m wide and 4 to 8 m high, level; or a tunnel 8 to 14 m wide and 5 to 8 m high
// that rises or falls by 1 to 4 %. In any direction; 1000 m long.
[[nodiscard]] PassageOptions SeededPassage(uint64_t seed, Roof roof);

[[nodiscard]] absl::Status ValidatePassageOptions(const PassageOptions& options);

// On the ground in the middle of the passage: x along its axis, y left, z off the ground.
[[nodiscard]] LocalFrame PassageFrame(const PassageOptions& options);

// `sight_m` is how far a vehicle can see: walls, ground and street go on by more than that behind
// both ends of what can be driven.
[[nodiscard]] absl::StatusOr<World> BuildPassage(const PassageOptions& options, Roof roof,
                                                 double sight_m);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_PASSAGE_H_
