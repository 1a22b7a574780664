// SPDX-License-Identifier: Apache-2.0
//
// What stands between the aisles of a hall: racks, machines and stacked goods. Each fills a
// rectangle on the floor.

#ifndef VOXLOC_CLIENTS_SIM_STORAGE_H_
#define VOXLOC_CLIENTS_SIM_STORAGE_H_

#include <vector>

#include "clients/sim/frame.h"
#include "clients/sim/random.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

// The frame's origin is the middle of the rectangle on the floor.
struct FloorBlock {
  LocalFrame frame;
  double size_x_m = 10.0;
  double size_y_m = 10.0;
  double headroom_m = 8.0;  // from the floor to the lowest beam
};

// Rows of shelves along x, with goods on some of them.
void AddRacks(const FloorBlock& block, Random random, std::vector<Solid>& solids);
void AddMachines(const FloorBlock& block, Random random, std::vector<Solid>& solids);
// Pallets with boxes, and drums.
void AddStackedGoods(const FloorBlock& block, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_STORAGE_H_
