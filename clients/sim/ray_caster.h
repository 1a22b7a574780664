// SPDX-License-Identifier: Apache-2.0
//
// RayCaster: exact first hits of rays in a scene, with the moving objects of one moment added.
//
// Hits are roots of the primitives' equations in double, good to about 1e-12 of the range: a point
// of a scan without noise lies on a surface of the scene. The scene must outlive the caster. Const
// after construction; any number of threads may cast.

#ifndef VOXLOC_CLIENTS_SIM_RAY_CASTER_H_
#define VOXLOC_CLIENTS_SIM_RAY_CASTER_H_

#include <vector>

#include "clients/sim/world.h"

namespace voxloc::sim {

struct RayHit {
  double range_m = kNoHit;
  Label label = Label::kGround;  // where range_m is finite
  const Solid* solid = nullptr;  // null: the ground, or nothing
};

class RayCaster {
 public:
  explicit RayCaster(const Scene& scene, std::vector<Solid> moving_objects = {});

  // The nearest surface before max_range_m; range_m is kNoHit when there is none.
  [[nodiscard]] RayHit Cast(const Ray& ray, double max_range_m) const;

  // The outward unit normal of the surface that was hit, at `point` on it.
  [[nodiscard]] Eigen::Vector3d NormalAt(const RayHit& hit, const Eigen::Vector3d& point) const;

  // Whether `target` can be seen from `eye`: nothing is met before the last millimetre.
  [[nodiscard]] bool Sees(const Eigen::Vector3d& eye, const Eigen::Vector3d& target) const;

 private:
  const Scene& scene_;
  std::vector<Solid> moving_objects_;
  Bvh moving_bvh_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_RAY_CASTER_H_
