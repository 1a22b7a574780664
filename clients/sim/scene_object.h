// SPDX-License-Identifier: Apache-2.0
//
// SceneObject: something in a scene that may differ in an older map of it, as the range of solids
// that it is made of. A plain value.

#ifndef VOXLOC_CLIENTS_SIM_SCENE_OBJECT_H_
#define VOXLOC_CLIENTS_SIM_SCENE_OBJECT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/sim/frame.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

enum class ObjectKind : uint8_t {
  kParkingPlace,  // with a car, or free: without solids
  kStructure,     // a house, a rack, a bridge: may be new or have moved
  kWall           // may have moved
};

struct SceneObject {
  ObjectKind kind = ObjectKind::kStructure;
  LocalFrame frame;  // of a car: x ahead; otherwise y is the direction in which it may move
  size_t first_solid = 0;
  size_t solids = 0;
};

// The object made of all solids from `first_solid` on.
[[nodiscard]] inline SceneObject ObjectSince(size_t first_solid, const std::vector<Solid>& solids,
                                             ObjectKind kind, const LocalFrame& frame) {
  return {kind, frame, first_solid, solids.size() - first_solid};
}

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SCENE_OBJECT_H_
