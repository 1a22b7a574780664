// SPDX-License-Identifier: Apache-2.0
//
// Makes way for a road through what already stands. A pure function.

#ifndef VOXLOC_CLIENTS_SIM_ROAD_CLEARING_H_
#define VOXLOC_CLIENTS_SIM_ROAD_CLEARING_H_

#include <Eigen/Core>
#include <vector>

#include "clients/sim/world.h"

namespace voxloc::sim {

// A straight road, from one place on the ground to another.
struct ClearedRoad {
  Eigen::Vector3d from = Eigen::Vector3d::Zero();
  Eigen::Vector3d to = Eigen::Vector3d::Zero();
  double half_width_m = 3.5;
  double headroom_m = 4.0;
};

// Removes every solid that reaches into a road's space, and the whole object that it is part of.
// Walls stay and get an opening as wide and as high as the road.
void ClearRoads(const std::vector<ClearedRoad>& roads, std::vector<Solid>& solids,
                std::vector<SceneObject>& objects);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_ROAD_CLEARING_H_
