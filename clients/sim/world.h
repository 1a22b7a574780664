// SPDX-License-Identifier: Apache-2.0
//
// World: what a simulation takes place in. What rays meet, and the streets that vehicles drive on,
// in one frame: x east, y north, z up, metres; zero in the middle, at ground level. A town is one,
// a passage and a field are others.
//
// Immutable; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_WORLD_H_
#define VOXLOC_CLIENTS_SIM_WORLD_H_

#include <vector>

#include "clients/sim/scene.h"
#include "clients/sim/scene_object.h"
#include "clients/sim/street_network.h"

namespace voxloc::sim {

struct World {
  StreetNetwork streets;
  Scene scene;
  std::vector<SceneObject> objects = {};  // what may differ in an older map
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_WORLD_H_
