// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/map_changes.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/random.h"

namespace voxloc::sim {
namespace {

class AgedWorldBuilder {
 public:
  AgedWorldBuilder(const World& world, const MapAgeOptions& options)
      : world_(world),
        options_(options),
        solids_(world.scene.solids()),
        removed_(solids_.size(), false) {}

  AgedWorld Build() && {
    for (size_t i = 0; i < world_.objects.size(); ++i) {
      const SceneObject& object = world_.objects[i];
      Random random(options_.seed, i);
      if (object.kind == ObjectKind::kParkingPlace) {
        ChangeParking(object, random);
      } else {
        ChangeStructure(object, random);
      }
    }
    std::vector<Solid> kept;
    for (size_t i = 0; i < solids_.size(); ++i) {
      if (!removed_[i]) kept.push_back(solids_[i]);
    }
    kept.insert(kept.end(), added_.begin(), added_.end());
    return {World{world_.streets, Scene(world_.scene.ground(), std::move(kept))}, counts_};
  }

 private:
  void Remove(const SceneObject& object) {
    for (size_t i = 0; i < object.solids; ++i) removed_[object.first_solid + i] = true;
  }

  void ChangeParking(const SceneObject& place, Random& random) {
    if (!random.Chance(options_.changed_parking)) return;
    const bool taken = random.Chance(0.5);
    const double turn_rad = random.Uniform(-0.03, 0.03);
    const LocalFrame frame =
        place.frame.At({random.Uniform(-0.3, 0.3), random.Uniform(-0.1, 0.1), 0.0}, turn_rad);
    if (place.solids == 0 && !taken) return;
    ++counts_.changed_places;
    Remove(place);
    if (taken) AddCar(frame, Label::kParkedCar, Random(random.Next()), added_);
  }

  void ChangeStructure(const SceneObject& object, Random& random) {
    const bool missing = random.Chance(options_.missing_structures);
    if (missing && object.kind == ObjectKind::kStructure) {
      ++counts_.missing_structures;
      return Remove(object);
    }
    if (!random.Chance(options_.moved_structures)) return;
    ++counts_.moved_structures;
    const double side = random.Chance(0.5) ? 1.0 : -1.0;
    for (size_t i = 0; i < object.solids; ++i) {
      solids_[object.first_solid + i].center +=
          side * options_.moved_by_m * object.frame.rotation.col(1);
    }
  }

  const World& world_;
  MapAgeOptions options_;
  std::vector<Solid> solids_;
  std::vector<bool> removed_;
  std::vector<Solid> added_;
  MapAgeCounts counts_;
};

}  // namespace

OptionRows ListOptions(const MapAgeOptions& options) {
  return {{"seed", options.seed},
          {"changed_parking", options.changed_parking, "changed parking", 0.0, 1.0},
          {"missing_structures", options.missing_structures, "missing structures", 0.0, 1.0},
          {"moved_structures", options.moved_structures, "moved structures", 0.0, 1.0},
          {"moved_by_m", options.moved_by_m, "moved by", 0.05, 2.0}};
}

AgedWorld MakeAgedWorld(const World& world, const MapAgeOptions& options) {
  return AgedWorldBuilder(world, options).Build();
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

}  // namespace voxloc::sim
