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

// Half the length and half the width of a vehicle, and from where to where, seen from its sensor,
// its sides reach.
struct VehicleBody {
  double half_length_m = 2.2;
  double half_width_m = 0.9;
  double low_m = -1.5;
  double high_m = -0.2;
};

// The least distance from the sides of the vehicle to any solid; negative when it touches one.
inline double LeastClearance(const World& world, const std::vector<DrivePose>& drive,
                             const VehicleBody& body = {}) {
  double least = std::numeric_limits<double>::infinity();
  for (const DrivePose& at : drive) {
    for (const double ahead : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      for (const double y : {-body.half_width_m, body.half_width_m}) {
        for (const double z : {body.low_m, body.high_m}) {
          const Eigen::Vector3d point =
              at.world_T_sensor * Eigen::Vector3d(ahead * body.half_length_m, y, z);
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
