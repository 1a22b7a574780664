// SPDX-License-Identifier: Apache-2.0
//
// FloorPlan: the rooms, corridors, walls and doors of a storey, and the ways through them.
//
// Rooms stand in rows along one or two corridors. Each has a door to a corridor, some have one to
// the next room, and two corridors are joined by a third. In a room the ways are a grid of aisles,
// so that a vehicle that never turns back finds out again. The building lies on [0, length] x
// [0, width], its outer walls outside of that. Metres. Plain values; a pure function.

#ifndef VOXLOC_CLIENTS_SIM_FLOOR_PLAN_H_
#define VOXLOC_CLIENTS_SIM_FLOOR_PLAN_H_

#include <Eigen/Core>
#include <vector>

#include "clients/sim/floor_blocks.h"
#include "clients/sim/random.h"
#include "clients/sim/street_network.h"

namespace voxloc::sim {

enum class BuildingUse { kOffices, kFlat, kWorkshop };

// In a wall: x along the wall, y to the left.
struct DoorOpening {
  double at_m = 0.0;  // of its middle along the wall
  double width_m = 1.0;
  double height_m = 2.05;
  double hinge =
      0.0;            // -1 or 1: the side along x where its leaf hangs; 0: no door, an opening only
  double side = 0.0;  // -1 or 1: the side along y to which the leaf opens
};

// A straight wall, half of its thickness on either side of its middle line.
struct PlanWall {
  Eigen::Vector2d start = Eigen::Vector2d::Zero();  // on its middle line
  bool along_y = false;                             // otherwise along x
  double length_m = 0.0;
  double thickness_m = 0.15;
  std::vector<DoorOpening> openings;  // in the order of at_m
};

struct PlanRoom {
  Eigen::Vector2d low = Eigen::Vector2d::Zero();  // corners, on the faces of its walls
  Eigen::Vector2d high = Eigen::Vector2d::Zero();
  AisleGrid aisles;  // of rooms; corridors have none
};

struct FloorPlan {
  BuildingUse use = BuildingUse::kOffices;
  double length_m = 0.0;
  double width_m = 0.0;
  double ceiling_m = 2.6;
  std::vector<PlanRoom> rooms;
  std::vector<PlanRoom> corridors;
  std::vector<PlanWall> inner_walls;
  std::vector<Eigen::Vector2d> doors;  // middles of all openings
  std::vector<Eigen::Vector2d> junctions;
  std::vector<Street> ways;
};

[[nodiscard]] FloorPlan MakeFloorPlan(Random random);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FLOOR_PLAN_H_
