// SPDX-License-Identifier: Apache-2.0
//
// Buildings: houses whose facades have depth. Windows lie back between piers and bands, with a
// period, a recess and heights of each house's own; doors, plinths, cornices, balconies, bay
// windows, awnings, drainpipes and roofs come and go by chance. No two stretches of a street look
// the same.

#ifndef VOXLOC_CLIENTS_SIM_BUILDING_H_
#define VOXLOC_CLIENTS_SIM_BUILDING_H_

#include <vector>

#include "clients/sim/frame.h"
#include "clients/sim/random.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

// The frame's origin is the middle of the front at street level, y towards the street: the house
// stands on [-width/2, width/2] x [-depth, 0].
struct BuildingPlot {
  LocalFrame frame;
  double width_m = 10.0;
  double depth_m = 10.0;
  double foundation_m = 1.0;  // how far below street level the walls go on
};

void AddBuilding(const BuildingPlot& plot, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_BUILDING_H_
