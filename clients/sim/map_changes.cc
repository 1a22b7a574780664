// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/map_changes.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"

namespace voxloc::sim {
OptionRows ListOptions(const MapAgeOptions& options) {
  return {{"seed", options.seed},
          {"changed_parking", options.changed_parking, "changed parking", 0.0, 1.0},
          {"missing_structures", options.missing_structures, "missing structures", 0.0, 1.0},
          {"moved_structures", options.moved_structures, "moved structures", 0.0, 1.0},
          {"moved_by_m", options.moved_by_m, "moved by", 0.05, 2.0}};
}

AgedWorld MakeAgedWorld(const World& world, const MapAgeOptions& options) {
  std::vector<Solid> solids = world.scene.solids();
  std::vector<bool> removed(solids.size(), false);
  std::vector<Solid> added;
  MapAgeCounts counts;
  const auto remove = [&](const SceneObject& object) {
    for (size_t i = 0; i < object.solids; ++i) removed[object.first_solid + i] = true;
  };
  const auto change_parking = [&](const SceneObject& place, Random& random) {
    if (!random.Chance(options.changed_parking)) return;
    const bool taken = random.Chance(0.5);
    const double turn_rad = random.Uniform(-0.03, 0.03);
    const LocalFrame frame =
        place.frame.At({random.Uniform(-0.3, 0.3), random.Uniform(-0.1, 0.1), 0.0}, turn_rad);
    if (place.solids == 0 && !taken) return;
    ++counts.changed_places;
    remove(place);
    if (taken) AddCar(frame, Label::kParkedCar, Random(random.Next()), added);
  };
  const auto change_structure = [&](const SceneObject& object, Random& random) {
    const bool missing = random.Chance(options.missing_structures);
    if (missing && object.kind == ObjectKind::kStructure) {
      ++counts.missing_structures;
      return remove(object);
    }
    if (!random.Chance(options.moved_structures)) return;
    ++counts.moved_structures;
    const double side = random.Chance(0.5) ? 1.0 : -1.0;
    for (size_t i = 0; i < object.solids; ++i) {
      solids[object.first_solid + i].center +=
          side * options.moved_by_m * object.frame.rotation.col(1);
    }
  };
  for (size_t i = 0; i < world.objects.size(); ++i) {
    const SceneObject& object = world.objects[i];
    Random random(options.seed, i);
    if (object.kind == ObjectKind::kParkingPlace) {
      change_parking(object, random);
    } else {
      change_structure(object, random);
    }
  }
  std::vector<Solid> kept;
  for (size_t i = 0; i < solids.size(); ++i) {
    if (!removed[i]) kept.push_back(solids[i]);
  }
  kept.insert(kept.end(), added.begin(), added.end());
  return {
      World{
          world.streets, Scene(world.scene.ground(), std::move(kept)), {}, world.eyes, world.parts},
      counts};
}

OptionRows ListOptions(const MapDriftOptions& options) {
  return {{"seed", options.seed},
          {"sigma_m", options.sigma_m, "map drift", 0.0, 1.0},
          {"wavelength_m", options.wavelength_m, "map drift wavelength", 20.0, 1000.0}};
}

MapDrift::MapDrift(const MapDriftOptions& options)
    : amplitude_m_(options.sigma_m * std::sqrt(2.0 / kWaves)) {
  for (size_t axis = 0; axis < waves_.size(); ++axis) {
    Random random(options.seed, axis);
    for (Wave& wave : waves_[axis]) {
      const double heading = random.Uniform(0.0, 2.0 * M_PI);
      const double climb = random.Uniform(-0.2, 0.2);
      const double wavelength_m = options.wavelength_m * random.Uniform(0.7, 1.5);
      wave.k_per_m = Eigen::Vector3d(std::cos(heading), std::sin(heading), climb).normalized() *
                     (2.0 * M_PI / wavelength_m);
      wave.phase_rad = random.Uniform(0.0, 2.0 * M_PI);
    }
  }
}

Eigen::Vector3d MapDrift::DisplacementAt(const Eigen::Vector3d& place) const {
  Eigen::Vector3d displacement = Eigen::Vector3d::Zero();
  for (size_t axis = 0; axis < waves_.size(); ++axis) {
    double sum = 0.0;
    for (const Wave& wave : waves_[axis]) sum += std::sin(wave.k_per_m.dot(place) + wave.phase_rad);
    displacement[static_cast<Eigen::Index>(axis)] = amplitude_m_ * sum;
  }
  return displacement;
}

Eigen::Vector3d MapDrift::RotationAt(const Eigen::Vector3d& place) const {
  Eigen::Matrix3d jacobian = Eigen::Matrix3d::Zero();  // of the displacement: axis by place
  for (size_t axis = 0; axis < waves_.size(); ++axis) {
    for (const Wave& wave : waves_[axis]) {
      jacobian.row(static_cast<Eigen::Index>(axis)) +=
          amplitude_m_ * std::cos(wave.k_per_m.dot(place) + wave.phase_rad) *
          wave.k_per_m.transpose();
    }
  }
  return 0.5 * Eigen::Vector3d(jacobian(2, 1) - jacobian(1, 2), jacobian(0, 2) - jacobian(2, 0),
                               jacobian(1, 0) - jacobian(0, 1));
}

void MapDrift::Apply(ThreadPool& pool, PointCloud& map) const {
  constexpr size_t kChunk = 65536;
  pool.ParallelFor((map.size() + kChunk - 1) / kChunk, [&](size_t chunk) {
    const size_t end = std::min(map.size(), (chunk + 1) * kChunk);
    for (size_t i = chunk * kChunk; i < end; ++i) {
      const Eigen::Vector3d place = map.Offset(i).cast<double>();
      const Eigen::Vector3f moved = (place + DisplacementAt(place)).cast<float>();
      map.x[i] = moved.x();
      map.y[i] = moved.y();
      map.z[i] = moved.z();
    }
  });
}

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
  constexpr double kMinLane_m = 1.0;
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
    LocalFrame frame = {ground.PointAt(place), YawRotation(yaw)};
    frame.origin.z() += street.ElevationAt(along_m);
    if (mover.car) {
      Eigen::Vector3d up = ground.Normal(place.x(), place.y());
      if (const double slope = street.ElevationSlope(); slope != 0.0) {
        up.head<2>() -= up.z() * slope * street.direction;
        up.normalize();
      }
      frame.rotation = TiltedRotation(yaw, up);
      AddCar(frame, Label::kMovingObject, Random(mover.shape_seed), solids);
    } else {
      AddPedestrian(frame, Label::kMovingObject, Random(mover.shape_seed), solids);
    }
  }
  return solids;
}

}  // namespace voxloc::sim
