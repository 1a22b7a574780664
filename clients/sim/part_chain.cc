// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/part_chain.h"

#include <utility>

namespace voxloc::sim {
namespace {

// Fine enough for the slopes beside a motorway, whose own ground has the same cells.
constexpr double kChainGroundCell_m = 2.5;

}  // namespace

void PartChain::Append(ChainPart part) {
  const LocalFrame turn = {Eigen::Vector3d::Zero(), YawRotation(part.yaw)};
  PlacedPart place = {std::move(part), turn, 0.0, 0.0};
  const auto turned = [&](const Eigen::Vector2d& at) {
    return (place.frame.rotation * Eigen::Vector3d(at.x(), at.y(), 0.0)).eval();
  };
  const Eigen::Vector3d entry = turned(place.part.entry);
  if (!places_.empty()) {
    const PlacedPart& last = places_.back();
    const double road_y = ToChain(places_.size() - 1, last.part.exit).y();
    place.low_x_m = last.high_x_m + gap_m_;
    place.frame.origin.x() = place.low_x_m + place.part.before_m - entry.x();
    place.frame.origin.y() = road_y - entry.y();
    place.frame.origin.z() =
        HeightOf(last, last.high_x_m, road_y) - HeightOf(place, place.low_x_m, road_y);
  } else {
    place.low_x_m = entry.x() - place.part.before_m;
  }
  place.high_x_m = place.frame.origin.x() + turned(place.part.exit).x() + place.part.behind_m;
  places_.push_back(std::move(place));
}

double PartChain::HeightOf(const PlacedPart& place, double x, double y) {
  const Eigen::Vector3d local =
      place.frame.rotation.transpose() *
      Eigen::Vector3d(x - place.frame.origin.x(), y - place.frame.origin.y(), 0.0);
  const double hill_m = place.part.hill_m == nullptr ? 0.0 : place.part.hill_m(local.head<2>());
  return place.frame.origin.z() + place.part.world.scene.ground().Height(local.x(), local.y()) +
         hill_m;
}

double PartChain::HeightAt(double x, double y) const {
  size_t next = 0;
  while (next < places_.size() && x > places_[next].high_x_m) ++next;
  if (next == places_.size()) return HeightOf(places_.back(), places_.back().high_x_m, y);
  const PlacedPart& place = places_[next];
  if (x >= place.low_x_m) return HeightOf(place, x, y);
  const double high_m = HeightOf(place, place.low_x_m, y);
  if (next == 0) return high_m;
  const PlacedPart& last = places_[next - 1];
  const double t = (x - last.high_x_m) / (place.low_x_m - last.high_x_m);
  const double low_m = HeightOf(last, last.high_x_m, y);
  return low_m + t * t * (3.0 - 2.0 * t) * (high_m - low_m);
}

void PartChain::AppendContents(std::vector<Solid>& solids,
                               std::vector<SceneObject>& objects) const {
  for (const PlacedPart& place : places_) {
    const size_t first = solids.size();
    for (Solid solid : place.part.world.scene.solids()) {
      solid.center = place.frame.ToMap(solid.center);
      solid.map_R_local = place.frame.rotation * solid.map_R_local;
      solids.push_back(solid);
    }
    for (SceneObject object : place.part.world.objects) {
      object.first_solid += first;
      object.frame = {place.frame.ToMap(object.frame.origin),
                      place.frame.rotation * object.frame.rotation};
      objects.push_back(object);
    }
  }
}

Ground PartChain::MakeGround(const Eigen::Vector2d& middle, double beyond_m) const {
  const double half_m = 0.5 * (places_.back().high_x_m - places_.front().low_x_m) + beyond_m;
  return Ground(half_m, kChainGroundCell_m,
                [&](double x, double y) { return HeightAt(x + middle.x(), y + middle.y()); });
}

}  // namespace voxloc::sim
