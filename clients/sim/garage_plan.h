// SPDX-License-Identifier: Apache-2.0
//
// GaragePlan: the dimensions of a garage, and the aisles and ramps that follow from them. x across
// the ramps, y along them, zero in the middle of the lower floor.

#ifndef VOXLOC_CLIENTS_SIM_GARAGE_PLAN_H_
#define VOXLOC_CLIENTS_SIM_GARAGE_PLAN_H_

#include "clients/sim/frame.h"
#include "clients/sim/random.h"
#include "clients/sim/street_network.h"

namespace voxloc::sim {

struct GaragePlan {
  static constexpr double kJunctionClear_m = 6.0;
  static constexpr double kAisleHalf_m = 3.5;
  static constexpr double kBayDepth_m = 5.0;
  static constexpr double kRampHalf_m = 3.6;  // half the width of a ramp with its walls

  double ceiling_m = 2.4;     // above each floor
  double slab_m = 0.3;        // between the storeys
  double ramp_half_m = 11.0;  // half the length of a ramp, seen from above
  double bay_m = 2.5;         // width of a bay
  int bays_per_column = 3;
  // 1: going up, the western ramp leads north and the eastern one south; -1: the other way around.
  double sense = 1.0;

  // Ceilings from 2.35 to 2.5 m, ramps from 20 to 27 m long.
  explicit GaragePlan(Random random);

  [[nodiscard]] double rise_m() const { return ceiling_m + slab_m; }
  // Middles of the aisles along y and along x, and of the ramps.
  [[nodiscard]] double aisle_x_m() const {
    return 2.0 * kRampHalf_m + 0.15 + kBayDepth_m + kAisleHalf_m;
  }
  [[nodiscard]] double aisle_y_m() const { return ramp_half_m + kJunctionClear_m; }
  // From the middle to the outer walls.
  [[nodiscard]] double half_x_m() const { return aisle_x_m() + kAisleHalf_m + kBayDepth_m; }
  [[nodiscard]] double half_y_m() const { return aisle_y_m() + kAisleHalf_m + kBayDepth_m; }

  [[nodiscard]] StreetNetwork Aisles(const LocalFrame& world_F_garage) const;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_GARAGE_PLAN_H_
