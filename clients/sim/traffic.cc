// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/traffic.h"

#include <cmath>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"

namespace voxloc::sim {
namespace {

constexpr double kMinLane_m = 1.0;

}  // namespace

OptionRows ListOptions(const TrafficOptions& options) {
  return {{"seed", options.seed},
          {"cars_per_km", options.cars_per_km, "moving cars per km", 0.0, 200.0},
          {"pedestrians_per_km", options.pedestrians_per_km, "pedestrians per km", 0.0, 2000.0}};
}

Traffic::Traffic(const World& world, const TrafficOptions& options)
    : world_(world), options_(options) {
  AddMovers(true, options.cars_per_km);
  AddMovers(false, options.pedestrians_per_km);
}

void Traffic::AddMovers(bool cars, double per_km) {
  const std::vector<Street>& streets = world_.streets.streets();
  for (size_t i = 0; i < streets.size(); ++i) {
    const Street& street = streets[i];
    if (street.length_m - 2.0 * street.clear_m < kMinLane_m) continue;
    Random random(options_.seed, cars ? 1 : 2, i);
    // Random rounding: the mean is the expected number.
    const int count = static_cast<int>(per_km * street.length_m / 1000.0 + random.Uniform());
    for (int k = 0; k < count; ++k) {
      Mover mover;
      mover.car = cars;
      mover.street = i;
      mover.forward = random.Chance(0.5);
      mover.start_m = random.Uniform(0.0, street.length_m);
      mover.speed_mps = cars ? random.Uniform(3.0, 12.0) : random.Uniform(0.6, 1.8);
      mover.shape_seed = random.Next();
      const Side side = mover.forward == random.Chance(0.5) ? kRight : kLeft;
      const double pavement_m =
          street.KerbOffset(side) + random.Uniform(0.3, 0.9) * street.pavement_m;
      // People walk on either pavement; cars keep to the right.
      const bool right_of_travel = (side == kRight) == mover.forward;
      mover.right_m = cars ? street.lane_offset_m : (right_of_travel ? pavement_m : -pavement_m);
      movers_.push_back(mover);
    }
  }
}

std::vector<Solid> Traffic::At(double stamp_s, const Eigen::Vector3d& ego) const {
  constexpr double kCarClearance_m = 6.5;
  constexpr double kPedestrianClearance_m = 2.0;
  std::vector<Solid> solids;
  for (const Mover& mover : movers_) {
    const Street& street = world_.streets.streets()[mover.street];
    const double usable_m = street.length_m - 2.0 * street.clear_m;
    const double gone_m = std::fmod(mover.start_m + mover.speed_mps * stamp_s, usable_m);
    const double along_m = street.clear_m + (mover.forward ? gone_m : usable_m - gone_m);
    const Eigen::Vector2d place =
        street.PointAt(along_m, mover.forward ? mover.right_m : -mover.right_m);
    const double clearance_m = mover.car ? kCarClearance_m : kPedestrianClearance_m;
    if ((place - ego.head<2>()).norm() < clearance_m) continue;
    const Eigen::Vector2d heading = mover.forward ? street.direction : -street.direction;
    const double yaw = std::atan2(heading.y(), heading.x());
    const Ground& ground = world_.scene.ground();
    LocalFrame frame;
    frame.origin = {place.x(), place.y(),
                    ground.Height(place.x(), place.y()) + street.ElevationAt(along_m)};
    if (mover.car) {
      Eigen::Vector3d up = ground.Normal(place.x(), place.y());
      if (const double slope = street.ElevationSlope(); slope != 0.0) {
        up.head<2>() -= up.z() * slope * street.direction;
        up.normalize();
      }
      frame.rotation = TiltedRotation(yaw, up);
      AddCar(frame, Label::kMovingObject, Random(mover.shape_seed), solids);
    } else {
      frame.rotation = YawRotation(yaw);
      AddPedestrian(frame, Label::kMovingObject, Random(mover.shape_seed), solids);
    }
  }
  return solids;
}

}  // namespace voxloc::sim
