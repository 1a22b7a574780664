// SPDX-License-Identifier: Apache-2.0
//
// World: the surfaces that rays hit and the streets that vehicles drive on, in one frame: x east,
// y north, z up, metres; the origin in the middle, at ground level.
//
// Immutable after construction; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_WORLD_H_
#define VOXLOC_CLIENTS_SIM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "clients/sim/bvh.h"
#include "clients/sim/furniture.h"
#include "clients/sim/ground.h"
#include "clients/sim/solid.h"
#include "clients/sim/street_network.h"

namespace voxloc::sim {

// What rays meet: a ground, solids, and their spatial index.
class Scene {
 public:
  Scene(Ground ground, std::vector<Solid> solids)
      : ground_(std::move(ground)), solids_(std::move(solids)), bvh_(solids_) {}

  [[nodiscard]] const Ground& ground() const { return ground_; }
  [[nodiscard]] const std::vector<Solid>& solids() const { return solids_; }
  [[nodiscard]] const Bvh& bvh() const { return bvh_; }

 private:
  Ground ground_;
  std::vector<Solid> solids_;
  Bvh bvh_;
};

enum class ObjectKind : uint8_t {
  kParkingPlace,  // with a car, or free: without solids
  kStructure,     // a house, a rack, a bridge: may be new or have moved
  kWall           // may have moved
};

// Something that may differ in an older map, as the range of solids that it is made of.
struct SceneObject {
  ObjectKind kind = ObjectKind::kStructure;
  LocalFrame frame;  // of a car: x ahead; otherwise y is the direction in which it may move
  size_t first_solid = 0;
  size_t solids = 0;
};

// The object made of all solids from `first_solid` on.
[[nodiscard]] inline SceneObject MakeSceneObject(size_t first_solid,
                                                 const std::vector<Solid>& solids, ObjectKind kind,
                                                 const LocalFrame& frame) {
  return {kind, frame, first_solid, solids.size() - first_solid};
}

struct World {
  StreetNetwork streets;
  Scene scene;
  std::vector<SceneObject> objects = {};
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_WORLD_H_
