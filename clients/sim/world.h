// SPDX-License-Identifier: Apache-2.0
//
// World: the surfaces that rays hit and the streets that vehicles drive on, in one frame: x east,
// y north, z up, metres; the origin in the middle, at ground level.
//
// Immutable after construction; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_WORLD_H_
#define VOXLOC_CLIENTS_SIM_WORLD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

// From where a mapping vehicle looks at a world.
struct MappingEyes {
  std::vector<double> heights_m = {2.0};  // above the floor
  double spacing_m = 5.0;                 // along the streets
  // For each cell of a grid the nearest eyes are used, at least so far apart.
  double separation_m = 8.0;
  double cell_m = 8.0;
  size_t per_cell = 6;
};

// A stretch of a world whose streets are a line that is driven in one direction.
struct WorldPart {
  const char* name = "";
  size_t first_street = 0;
};

struct World {
  StreetNetwork streets;
  Scene scene;
  std::vector<SceneObject> objects = {};
  MappingEyes eyes = {};
  std::vector<WorldPart> parts = {};  // of a world that is composed of other ones
};

struct RayHit {
  double range_m = kNoHit;
  Label label = Label::kGround;  // where range_m is finite
  const Solid* solid = nullptr;  // null: the ground, or nothing
};

// RayCaster: exact first hits of rays in a scene, with the moving objects of one moment added.
//
// Hits are roots of the primitives' equations in double, good to about 1e-12 of the range: a point
// of a scan without noise lies on a surface of the scene. The scene must outlive the caster. Const
// after construction; any number of threads may cast.
class RayCaster {
 public:
  explicit RayCaster(const Scene& scene, std::vector<Solid> moving_objects = {})
      : scene_(scene), moving_objects_(std::move(moving_objects)), moving_bvh_(moving_objects_) {}

  // The nearest surface before max_range_m; range_m is kNoHit when there is none.
  [[nodiscard]] RayHit Cast(const Ray& ray, double max_range_m) const {
    RayHit hit;
    const auto meet = [&hit](const Bvh::Hit& found, const std::vector<Solid>& solids) {
      hit = {found.t, solids[found.solid].label, &solids[found.solid]};
    };
    const Bvh::Hit fixed = scene_.bvh().Closest(ray, max_range_m);
    if (fixed.t < max_range_m) meet(fixed, scene_.solids());
    const Bvh::Hit moving = moving_bvh_.Closest(ray, std::min(hit.range_m, max_range_m));
    if (moving.t < hit.range_m) meet(moving, moving_objects_);
    // The ground last: its cells are walked one by one, only as far as the nearest solid.
    const double ground = scene_.ground().Intersect(ray, std::min(hit.range_m, max_range_m));
    if (ground < hit.range_m) hit = {ground, Label::kGround, nullptr};
    return hit;
  }

  // The outward unit normal of the surface that was hit, at `point` on it.
  [[nodiscard]] Eigen::Vector3d NormalAt(const RayHit& hit, const Eigen::Vector3d& point) const {
    if (hit.solid != nullptr) return SurfaceNormal(*hit.solid, point);
    return scene_.ground().Normal(point.x(), point.y());
  }

  // Whether `target` can be seen from `eye`: nothing is met before the last millimetre.
  [[nodiscard]] bool Sees(const Eigen::Vector3d& eye, const Eigen::Vector3d& target) const {
    constexpr double kTolerance_m = 1e-3;
    const Eigen::Vector3d sight = target - eye;
    const double distance_m = sight.norm();
    if (distance_m <= kTolerance_m) return true;
    const Ray ray = {eye, sight / distance_m};
    const double before_m = distance_m - kTolerance_m;
    return !scene_.bvh().AnyBefore(ray, before_m) && !moving_bvh_.AnyBefore(ray, before_m) &&
           scene_.ground().Intersect(ray, before_m) == kNoHit;
  }

 private:
  const Scene& scene_;
  std::vector<Solid> moving_objects_;
  Bvh moving_bvh_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_WORLD_H_
