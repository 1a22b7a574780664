// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/map_age.h"

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

AgedWorld WorldOfOldMap(const World& world, const MapAgeOptions& options) {
  return AgedWorldBuilder(world, options).Build();
}

}  // namespace voxloc::sim
