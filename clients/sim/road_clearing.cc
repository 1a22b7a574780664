// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/road_clearing.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace voxloc::sim {
namespace {

// Rays along a road find what stands in it. From ray to ray: less than the thinnest post is wide,
// and less than a kerb, a rail or a bumper is high.
constexpr double kAcross_m = 0.06;
constexpr double kUpwards_m = 0.3;
constexpr double kAboveGround_m = 0.25;
constexpr double kBehindHit_m = 1e-3;

// Positions in the list of all solids that rays through the road's space meet.
std::set<size_t> SolidsOn(const ClearedRoad& road, const Bvh& bvh) {
  std::set<size_t> met;
  const Eigen::Vector3d way = road.to - road.from;
  const Eigen::Vector3d ahead = way.normalized();
  const Eigen::Vector3d left = Eigen::Vector3d::UnitZ().cross(ahead).normalized();
  for (double y = -road.half_width_m; y <= road.half_width_m; y += kAcross_m) {
    for (double z = kAboveGround_m; z <= road.headroom_m; z += kUpwards_m) {
      Ray ray = {road.from + y * left + z * Eigen::Vector3d::UnitZ(), ahead};
      double left_m = way.norm();
      // Where a ray leaves a solid it meets it again.
      for (Bvh::Hit hit = bvh.Closest(ray, left_m); hit.t < left_m;
           hit = bvh.Closest(ray, left_m)) {
        met.insert(hit.solid);
        ray.origin += (hit.t + kBehindHit_m) * ahead;
        left_m -= hit.t + kBehindHit_m;
      }
    }
  }
  return met;
}

// The wall without an opening for the road: beside it on both sides, and above it.
void AddOpenedWall(const ClearedRoad& road, const Solid& wall, std::vector<Solid>& solids) {
  // Of the horizontal axes, the longer one runs along the wall.
  const Eigen::Index along = wall.half_extent.x() > wall.half_extent.y() ? 0 : 1;
  const Eigen::Index across = 1 - along;
  const Eigen::Vector3d way = wall.map_R_local.transpose() * (road.to - road.from);
  const Eigen::Vector3d from = wall.map_R_local.transpose() * (road.from - wall.center);
  const Eigen::Vector3d crossing = from - way * (from[across] / way[across]);
  const auto add = [&](double low, double high, double bottom, double top) {
    Eigen::Vector3d middle = Eigen::Vector3d::Zero();
    middle[along] = 0.5 * (low + high);
    middle.z() = 0.5 * (bottom + top);
    Solid piece = wall;
    piece.center += wall.map_R_local * middle;
    piece.half_extent[along] = 0.5 * (high - low);
    piece.half_extent.z() = 0.5 * (top - bottom);
    if (high > low && top > bottom) solids.push_back(piece);
  };
  const double half = wall.half_extent[along];
  const double height = wall.half_extent.z();
  const double low = std::max(-half, crossing[along] - road.half_width_m);
  const double high = std::min(half, crossing[along] + road.half_width_m);
  add(-half, low, -height, height);
  add(high, half, -height, height);
  add(low, high, crossing.z() + road.headroom_m, height);
}

}  // namespace

void ClearRoads(const std::vector<ClearedRoad>& roads, std::vector<Solid>& solids,
                std::vector<SceneObject>& objects) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> object_of(solids.size(), kNone);
  for (size_t i = 0; i < objects.size(); ++i) {
    for (size_t k = 0; k < objects[i].solids; ++k) object_of[objects[i].first_solid + k] = i;
  }
  const Bvh bvh(solids);
  std::vector<bool> removed(solids.size(), false);
  std::vector<Solid> added;
  for (const ClearedRoad& road : roads) {
    for (const size_t i : SolidsOn(road, bvh)) {
      if (removed[i]) continue;
      if (object_of[i] == kNone) {
        removed[i] = true;
        continue;
      }
      const SceneObject& object = objects[object_of[i]];
      if (object.kind == ObjectKind::kWall) AddOpenedWall(road, solids[i], added);
      for (size_t k = 0; k < object.solids; ++k) removed[object.first_solid + k] = true;
    }
  }
  // Positions change; what is left of an object stays together.
  std::vector<size_t> kept_before(solids.size() + 1, 0);
  std::vector<Solid> kept;
  for (size_t i = 0; i < solids.size(); ++i) {
    kept_before[i] = kept.size();
    if (!removed[i]) kept.push_back(solids[i]);
  }
  kept_before[solids.size()] = kept.size();
  std::vector<SceneObject> kept_objects;
  for (SceneObject object : objects) {
    const size_t end = object.first_solid + object.solids;
    if (object.solids > 0 && removed[object.first_solid]) continue;
    object.solids = kept_before[end] - kept_before[object.first_solid];
    object.first_solid = kept_before[object.first_solid];
    kept_objects.push_back(object);
  }
  kept.insert(kept.end(), added.begin(), added.end());
  solids = std::move(kept);
  objects = std::move(kept_objects);
}

}  // namespace voxloc::sim
