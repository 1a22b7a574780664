// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/garage_plan.h"

#include <utility>
#include <vector>

namespace voxloc::sim {

GaragePlan::GaragePlan(Random random)
    : ceiling_m(random.Uniform(2.35, 2.5)),
      slab_m(random.Uniform(0.25, 0.3)),
      ramp_half_m(random.Uniform(10.0, 13.5)),
      bay_m(random.Uniform(2.4, 2.7)),
      bays_per_column(random.UniformInt(2, 4)),
      sense(random.Chance(0.5) ? 1.0 : -1.0) {}

StreetNetwork GaragePlan::Aisles(const LocalFrame& world_F_garage) const {
  // On each storey: the four corners, then where a ramp meets the southern and the northern aisle.
  constexpr int kJunctions = 6;
  enum Place : int { kSouthWest, kSouthEast, kNorthEast, kNorthWest, kSouthRamp, kNorthRamp };
  std::vector<Eigen::Vector2d> junctions;
  std::vector<Street> streets;
  const auto join = [&](int from, int to, double from_elevation_m, double to_elevation_m) {
    Street street;
    street.from = from;
    street.to = to;
    street.clear_m = kJunctionClear_m;
    street.pavement_m = 0.5;
    street.from_elevation_m = from_elevation_m;
    street.to_elevation_m = to_elevation_m;
    streets.push_back(street);
  };
  for (int storey = 0; storey < 2; ++storey) {
    // The ramp that goes up northwards meets the lower southern aisle and the upper northern one.
    const double south_ramp_x = (storey == 0 ? -sense : sense) * kRampHalf_m;
    for (const auto& [x, y] :
         {std::pair(-aisle_x_m(), -aisle_y_m()), std::pair(aisle_x_m(), -aisle_y_m()),
          std::pair(aisle_x_m(), aisle_y_m()), std::pair(-aisle_x_m(), aisle_y_m()),
          std::pair(south_ramp_x, -aisle_y_m()), std::pair(-south_ramp_x, aisle_y_m())}) {
      junctions.emplace_back(world_F_garage.ToMap({x, y, 0.0}).head<2>());
    }
    for (const auto& [from, to] :
         {std::pair(kSouthWest, kNorthWest), std::pair(kSouthEast, kNorthEast),
          std::pair(kSouthWest, kSouthRamp), std::pair(kSouthRamp, kSouthEast),
          std::pair(kNorthWest, kNorthRamp), std::pair(kNorthRamp, kNorthEast)}) {
      const double floor_m = storey * rise_m();
      join(storey * kJunctions + from, storey * kJunctions + to, floor_m, floor_m);
    }
  }
  join(kSouthRamp, kJunctions + kNorthRamp, 0.0, rise_m());
  join(kNorthRamp, kJunctions + kSouthRamp, 0.0, rise_m());
  return {std::move(junctions), std::move(streets)};
}

}  // namespace voxloc::sim
