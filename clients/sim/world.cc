// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/world.h"

#include <algorithm>
#include <utility>

namespace voxloc::sim {

RayCaster::RayCaster(const Scene& scene, std::vector<Solid> moving_objects)
    : scene_(scene), moving_objects_(std::move(moving_objects)), moving_bvh_(moving_objects_) {}

RayHit RayCaster::Cast(const Ray& ray, double max_range_m) const {
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

Eigen::Vector3d RayCaster::NormalAt(const RayHit& hit, const Eigen::Vector3d& point) const {
  if (hit.solid != nullptr) return SurfaceNormal(*hit.solid, point);
  return scene_.ground().Normal(point.x(), point.y());
}

bool RayCaster::Sees(const Eigen::Vector3d& eye, const Eigen::Vector3d& target) const {
  constexpr double kTolerance_m = 1e-3;
  const Eigen::Vector3d sight = target - eye;
  const double distance_m = sight.norm();
  if (distance_m <= kTolerance_m) return true;
  const Ray ray = {eye, sight / distance_m};
  const double before_m = distance_m - kTolerance_m;
  return !scene_.bvh().AnyBefore(ray, before_m) && !moving_bvh_.AnyBefore(ray, before_m) &&
         scene_.ground().Intersect(ray, before_m) == kNoHit;
}

}  // namespace voxloc::sim
