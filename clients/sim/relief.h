// SPDX-License-Identifier: Apache-2.0
//
// Relief: ground that rises and falls in long waves of random directions, zero in the middle.

#ifndef VOXLOC_CLIENTS_SIM_RELIEF_H_
#define VOXLOC_CLIENTS_SIM_RELIEF_H_

#include "clients/sim/ground.h"
#include "clients/sim/random.h"

namespace voxloc::sim {

// A square of ground with half the edge `half_size_m`; from its lowest to its highest place it is
// about `relief_m`.
[[nodiscard]] Ground RollingGround(double half_size_m, double relief_m, Random random);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_RELIEF_H_
