// SPDX-License-Identifier: Apache-2.0
//
// Fills in the options of the chosen scene: what was given, and otherwise the scene's defaults,
// some of which follow from the seed. A pure function.

#ifndef VOXLOC_CLIENTS_SIM_SCENE_DEFAULTS_H_
#define VOXLOC_CLIENTS_SIM_SCENE_DEFAULTS_H_

#include <cstdint>

#include "clients/sim/simulate_arguments.h"

namespace voxloc::sim {

// Sets the options of `options.scene`, the speed and the map's view distance.
void SetSceneOptions(const GivenOptions& given, uint64_t seed, SimulationOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SCENE_DEFAULTS_H_
