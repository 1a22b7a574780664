// SPDX-License-Identifier: Apache-2.0
//
// Scene: what rays meet. A ground, solids, and their spatial index, in the world's frame.
//
// Immutable after construction; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_SCENE_H_
#define VOXLOC_CLIENTS_SIM_SCENE_H_

#include <utility>
#include <vector>

#include "clients/sim/bvh.h"
#include "clients/sim/ground.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

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

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SCENE_H_
