// SPDX-License-Identifier: Apache-2.0
//
// How near a vehicle comes to what stands in a world, by distance functions that share nothing with
// the simulator's ray casting.

#ifndef VOXLOC_TESTS_CLIENTS_SIM_DRIVE_CLEARANCE_H_
#define VOXLOC_TESTS_CLIENTS_SIM_DRIVE_CLEARANCE_H_

#include <algorithm>
#include <limits>
#include <vector>

#include "clients/sim/drive.h"
#include "tests/clients/sim/surface_distance.h"

namespace voxloc::sim {

// The least distance from the sides of the vehicle, 4.4 m long and 1.8 m wide, to any solid;
// negative when it touches one.
inline double LeastClearance(const World& world, const std::vector<DrivePose>& drive) {
  double least = std::numeric_limits<double>::infinity();
  for (const DrivePose& at : drive) {
    for (const double x : {-2.2, -1.1, 0.0, 1.1, 2.2}) {
      for (const double y : {-0.9, 0.9}) {
        for (const double z : {-1.5, -0.2}) {
          const Eigen::Vector3d point = at.world_T_sensor * Eigen::Vector3d(x, y, z);
          for (const Solid& solid : world.scene.solids()) {
            if ((solid.center - point).norm() > solid.half_extent.norm() + 1.0) continue;
            least = std::min(least, SignedDistance(solid, point));
          }
        }
      }
    }
  }
  return least;
}

}  // namespace voxloc::sim

#endif  // VOXLOC_TESTS_CLIENTS_SIM_DRIVE_CLEARANCE_H_
