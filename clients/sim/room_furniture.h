// SPDX-License-Identifier: Apache-2.0
//
// What stands and hangs at the walls of rooms, made of solids.

#ifndef VOXLOC_CLIENTS_SIM_ROOM_FURNITURE_H_
#define VOXLOC_CLIENTS_SIM_ROOM_FURNITURE_H_

#include <vector>

#include "clients/sim/floor_blocks.h"
#include "clients/sim/furniture.h"
#include "clients/sim/random.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

// A place at a wall: x along the wall, y into the room, the origin in the middle of the place at
// the wall's foot.
struct WallPlace {
  LocalFrame frame;
  double width_m = 1.0;
  double depth_m = 0.6;  // how far things may stand out into the room
  double ceiling_m = 2.6;
};

// Shelves, cabinets, counters, sofas or plants where depth_m is over 0.3; otherwise radiators,
// boards and pictures.
void AddWallPiece(const WallPlace& place, Random random, std::vector<Solid>& solids);
// A window in its frame, which stands out of the wall, and mostly a radiator under it.
void AddWindow(const WallPlace& place, Random random, std::vector<Solid>& solids);
// Fills a part of a block; its head is at y.
void AddBed(const FloorBlock& block, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_ROOM_FURNITURE_H_
