// SPDX-License-Identifier: Apache-2.0
//
// Everything in a street that is not a house: trees, lamp posts, signs, bins, hedges, fences, cars
// and people. Each stands on its frame's origin, x along the street, y towards it (for cars and
// people x is the heading), z up.

#ifndef VOXLOC_CLIENTS_SIM_FURNITURE_H_
#define VOXLOC_CLIENTS_SIM_FURNITURE_H_

#include <vector>

#include "clients/sim/frame.h"
#include "clients/sim/random.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

// A trunk and a crown of randomised blobs; `height_m` is about that of the crown's middle.
void AddTree(const LocalFrame& frame, double height_m, Random random, std::vector<Solid>& solids);
void AddLampPost(const LocalFrame& frame, Random random, std::vector<Solid>& solids);
void AddTrafficSign(const LocalFrame& frame, Random random, std::vector<Solid>& solids);
void AddBin(const LocalFrame& frame, Random random, std::vector<Solid>& solids);
// Along x, `length_m` long, centred on the origin.
void AddHedge(const LocalFrame& frame, double length_m, Random random, std::vector<Solid>& solids);
void AddFence(const LocalFrame& frame, double length_m, Random random, std::vector<Solid>& solids);
// Three cars in ten have dark paint.
void AddCar(const LocalFrame& frame, Label label, Random random, std::vector<Solid>& solids);
void AddPedestrian(const LocalFrame& frame, Label label, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FURNITURE_H_
