// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/route.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/geometry/euler.h"

namespace voxloc::sim {
namespace {

constexpr double kStep_m = 0.25;

}  // namespace

RouteBuilder::RouteBuilder(const StreetNetwork& streets, uint64_t seed)
    : streets_(streets), random_(seed, 1), visits_(streets.streets().size(), 0) {
  leg_.street = random_.UniformInt(0, static_cast<int>(streets.streets().size()) - 1);
  leg_.forward = random_.Chance(0.5);
  if (streets.IsLine()) {
    leg_.street = leg_.forward ? 0 : static_cast<int>(streets.streets().size()) - 1;
  }
  ++visits_[static_cast<size_t>(leg_.street)];
  AppendLane(LaneOf(leg_));
}

bool RouteBuilder::Extend() {
  const std::optional<Leg> next = ChooseNext();
  if (!next.has_value()) return false;
  const Lane from = LaneOf(leg_);
  leg_ = *next;
  ++visits_[static_cast<size_t>(leg_.street)];
  const Lane to = LaneOf(leg_);
  AppendTurn(from, to);
  AppendLane(to);
  return true;
}

RouteBuilder::Lane RouteBuilder::LaneOf(const Leg& leg) const {
  const Street& street = streets_.streets()[static_cast<size_t>(leg.street)];
  const double right_m = leg.forward ? street.lane_offset_m : -street.lane_offset_m;
  const Eigen::Vector2d low = street.PointAt(street.clear_m, right_m);
  const Eigen::Vector2d high = street.PointAt(street.length_m - street.clear_m, right_m);
  if (leg.forward) {
    return {low, high, street.direction, street.from_elevation_m, street.to_elevation_m};
  }
  return {high, low, -street.direction, street.to_elevation_m, street.from_elevation_m};
}

// One of the streets driven least so far, so that a drive sees much of the world.
std::optional<RouteBuilder::Leg> RouteBuilder::ChooseNext() {
  const Street& street = streets_.streets()[static_cast<size_t>(leg_.street)];
  const int junction = leg_.forward ? street.to : street.from;
  int fewest = std::numeric_limits<int>::max();
  std::vector<int> choices;
  for (const int next : streets_.StreetsAt(junction)) {
    if (next == leg_.street) continue;
    const int visits = visits_[static_cast<size_t>(next)];
    if (visits < fewest) choices.clear();
    fewest = std::min(fewest, visits);
    if (visits == fewest) choices.push_back(next);
  }
  if (choices.empty()) return std::nullopt;
  const int choice = random_.UniformInt(0, static_cast<int>(choices.size()) - 1);
  const int next = choices[static_cast<size_t>(choice)];
  return Leg{next, streets_.streets()[static_cast<size_t>(next)].from == junction};
}

void RouteBuilder::Append(const Eigen::Vector2d& position, const Eigen::Vector2d& heading,
                          double curvature, double elevation_m) {
  const double heading_rad = std::atan2(heading.y(), heading.x());
  if (points_.empty()) {
    points_.push_back({0.0, position, heading_rad, curvature, elevation_m});
    return;
  }
  const RoutePoint& last = points_.back();
  const double gone_m = (position - last.position).norm();
  if (gone_m < 1e-6) return;
  points_.push_back({last.arc_m + gone_m, position,
                     last.heading_rad + WrapAngle(heading_rad - last.heading_rad), curvature,
                     elevation_m});
}

void RouteBuilder::AppendLane(const Lane& lane) {
  const double length_m = (lane.end - lane.start).norm();
  const int steps = std::max(1, static_cast<int>(std::ceil(length_m / kStep_m)));
  for (int i = 0; i <= steps; ++i) {
    const double elevation_m =
        lane.start_elevation_m + (lane.end_elevation_m - lane.start_elevation_m) * i / steps;
    Append(lane.start + (lane.end - lane.start) * i / steps, lane.direction, 0.0, elevation_m);
  }
}

// A quintic with given ends, tangents along the lanes and no second derivative at either end, on
// the floor that both lanes have at the junction.
void RouteBuilder::AppendTurn(const Lane& from, const Lane& to) {
  const Eigen::Vector2d chord = to.start - from.end;
  const double angle = std::abs(
      std::atan2(from.direction.x() * to.direction.y() - from.direction.y() * to.direction.x(),
                 from.direction.dot(to.direction)));
  // The sharper the turn, the longer the tangents, so that it does not cut the corner.
  const double speed = chord.norm() * (1.0 + 0.34 * angle / M_PI_2);
  const Eigen::Vector2d a = speed * from.direction;
  const Eigen::Vector2d b = speed * to.direction;
  const Eigen::Vector2d c3 = 10.0 * chord - 6.0 * a - 4.0 * b;
  const Eigen::Vector2d c4 = -15.0 * chord + 8.0 * a + 7.0 * b;
  const Eigen::Vector2d c5 = 6.0 * chord - 3.0 * a - 3.0 * b;
  const int steps = std::max(2, static_cast<int>(std::ceil(speed / kStep_m)));
  for (int i = 1; i < steps; ++i) {
    const double t = static_cast<double>(i) / steps;
    const Eigen::Vector2d position = from.end + t * (a + t * t * (c3 + t * (c4 + t * c5)));
    const Eigen::Vector2d first = a + t * t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5));
    const Eigen::Vector2d second = t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5));
    const double curvature =
        (first.x() * second.y() - first.y() * second.x()) / std::pow(first.norm(), 3);
    Append(position, first, curvature, from.end_elevation_m);
  }
}

}  // namespace voxloc::sim
