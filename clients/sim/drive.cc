// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/drive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/sim/furniture.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kHalfWheelbase_m = 1.35;
constexpr double kHalfTrack_m = 0.8;
constexpr double kMaxRoute_m = 200'000.0;
constexpr double kStep_m = 0.25;   // from sample to sample of a route
constexpr int kMinTurnSteps = 16;  // 6 degrees each in a turn to the side

// The elevation of the route at `arc_m`, which lies close to the route's point `near`.
double ElevationAt(const std::vector<RoutePoint>& route, size_t near, double arc_m) {
  while (near > 0 && route[near].arc_m > arc_m) --near;
  while (near + 2 < route.size() && route[near + 1].arc_m < arc_m) ++near;
  const RoutePoint& from = route[near];
  const RoutePoint& to = route[near + 1];
  const double fraction = std::clamp((arc_m - from.arc_m) / (to.arc_m - from.arc_m), 0.0, 1.0);
  return from.elevation_m + fraction * (to.elevation_m - from.elevation_m);
}

// The sensor's pose when the vehicle stands at `position`, its four wheels on the floor, which is
// front_m and rear_m above the ground under the axles.
Pose PoseOnGround(const Ground& ground, const Eigen::Vector2d& position, double heading_rad,
                  double front_m, double rear_m, double sensor_height_m) {
  const Eigen::Vector2d ahead(std::cos(heading_rad), std::sin(heading_rad));
  const Eigen::Vector2d left(-ahead.y(), ahead.x());
  double mean = 0.0;
  double rise_ahead = 0.0;
  double rise_left = 0.0;
  for (const double x : {-1.0, 1.0}) {
    for (const double y : {-1.0, 1.0}) {
      const Eigen::Vector2d wheel =
          position + x * kHalfWheelbase_m * ahead + y * kHalfTrack_m * left;
      const double height = ground.Height(wheel.x(), wheel.y()) + (x > 0.0 ? front_m : rear_m);
      mean += 0.25 * height;
      rise_ahead += 0.25 * x * height / kHalfWheelbase_m;
      rise_left += 0.25 * y * height / kHalfTrack_m;
    }
  }
  const Eigen::Vector2d rise = rise_ahead * ahead + rise_left * left;
  const Eigen::Vector3d up = Eigen::Vector3d(-rise.x(), -rise.y(), 1.0).normalized();
  Pose pose;
  pose.translation = Eigen::Vector3d(position.x(), position.y(), mean) + sensor_height_m * up;
  pose.rotation = Eigen::Quaterniond(TiltedRotation(heading_rad, up)).normalized();
  return pose;
}

// Sets the speeds that the limits allow, and the times that follow from them.
void SetTimes(const DriveOptions& options, const std::vector<Street>& streets,
              std::vector<RoutePoint>& route) {
  for (RoutePoint& point : route) {
    const double bend = std::max(1e-9, std::abs(point.curvature));
    point.speed_mps = std::min({options.max_speed_mps, streets[point.street].speed_limit_mps,
                                std::sqrt(options.max_lateral_mps2 / bend)});
  }
  const auto limit = [&](RoutePoint& point, const RoutePoint& neighbour) {
    const double length_m = std::abs(neighbour.arc_m - point.arc_m);
    const double reachable_mps = std::sqrt(neighbour.speed_mps * neighbour.speed_mps +
                                           2.0 * options.max_longitudinal_mps2 * length_m);
    point.speed_mps = std::min(point.speed_mps, reachable_mps);
  };
  for (size_t i = route.size() - 1; i-- > 0;) limit(route[i], route[i + 1]);
  for (size_t i = 1; i < route.size(); ++i) limit(route[i], route[i - 1]);
  for (size_t i = 1; i < route.size(); ++i) {
    const double length_m = route[i].arc_m - route[i - 1].arc_m;
    route[i].time_s =
        route[i - 1].time_s + 2.0 * length_m / (route[i - 1].speed_mps + route[i].speed_mps);
  }
}

}  // namespace

OptionRows ListOptions(const DriveOptions& options) {
  return {{"seed", options.seed},
          {"scans", options.scans, "scans", 1, 100000},
          {"rate_hz", options.rate_hz, "rate", 0.1, 100.0},
          {"max_speed_mps", options.max_speed_mps, "speed", 0.1, 40.0},
          {"max_lateral_mps2", options.max_lateral_mps2, "lateral acceleration", 0.1, 10.0},
          {"max_longitudinal_mps2", options.max_longitudinal_mps2, "longitudinal acceleration", 0.1,
           10.0},
          {"sensor_height_m", options.sensor_height_m, "sensor height", 0.3, 10.0},
          {nullptr, options.tail_s, "tail", 0.0, 10.0}};
}

absl::StatusOr<Drive> Drive::Plan(const World& world, const DriveOptions& options) {
  VOXLOC_TRY(Validate(options));
  const double last_stamp_s = (options.scans - 1) / options.rate_hz + options.tail_s;
  // The route goes on until braking for what lies behind its end cannot reach back to the last
  // scan.
  const double braking_s = 2.0 * options.max_speed_mps / options.max_longitudinal_mps2;
  RouteBuilder builder(world.streets, options.seed);
  const std::string description =
      absl::StrCat("a drive of ", options.scans, " scans at ", options.rate_hz, " Hz and ",
                   options.max_speed_mps, " m/s");
  bool dead_end = false;
  double planned_m = 0.0;
  std::vector<RoutePoint> route;
  do {
    planned_m = std::max(1.5 * planned_m, 200.0);
    if (planned_m > kMaxRoute_m) {
      return absl::InvalidArgumentError(
          absl::StrCat(description, " is over ", kMaxRoute_m / 1000.0, " km long"));
    }
    while (!dead_end && builder.points().back().arc_m < planned_m) dead_end = !builder.Extend();
    route = builder.points();
    SetTimes(options, world.streets.streets(), route);
  } while (!dead_end && route.back().time_s < last_stamp_s + braking_s);
  if (route.back().time_s < last_stamp_s) {
    return absl::InvalidArgumentError(
        absl::StrCat(description, " takes ", last_stamp_s, " s, but the street ends after ",
                     route.back().arc_m, " m and ", route.back().time_s, " s"));
  }
  return Drive(world, options, std::move(route));
}

DrivePose Drive::At(double stamp_s) const {
  const auto next = std::lower_bound(
      route_.begin() + 1, route_.end() - 1, stamp_s,
      [](const RoutePoint& point, double time_s) { return point.time_s < time_s; });
  const auto i = static_cast<size_t>(next - route_.begin()) - 1;
  const RoutePoint& from = route_[i];
  const RoutePoint& to = route_[i + 1];
  // The speed changes evenly within a segment.
  const double since_s = stamp_s - from.time_s;
  const double acceleration = (to.speed_mps - from.speed_mps) / (to.time_s - from.time_s);
  const double gone_m = since_s * (from.speed_mps + 0.5 * acceleration * since_s);
  const double fraction = std::clamp(gone_m / (to.arc_m - from.arc_m), 0.0, 1.0);
  const Eigen::Vector2d position = from.position + fraction * (to.position - from.position);
  const double heading = from.heading_rad + fraction * (to.heading_rad - from.heading_rad);
  const double arc_m = from.arc_m + fraction * (to.arc_m - from.arc_m);
  return {stamp_s, from.speed_mps + acceleration * since_s,
          PoseOnGround(world_->scene.ground(), position, heading,
                       ElevationAt(route_, i, arc_m + kHalfWheelbase_m),
                       ElevationAt(route_, i, arc_m - kHalfWheelbase_m), options_.sensor_height_m)};
}

std::vector<DrivePose> Drive::Scans() const {
  std::vector<DrivePose> scans;
  scans.reserve(static_cast<size_t>(options_.scans));
  for (int scan = 0; scan < options_.scans; ++scan) scans.push_back(At(scan / options_.rate_hz));
  return scans;
}

RouteBuilder::RouteBuilder(const StreetNetwork& streets, uint64_t seed)
    : streets_(streets), random_(seed, 1), visits_(streets.streets().size(), 0) {
  leg_.street = random_.UniformInt(0, static_cast<int>(streets.streets().size()) - 1);
  leg_.forward = random_.Chance(0.5);
  if (streets.streets()[static_cast<size_t>(leg_.street)].one_way) leg_.forward = true;
  if (streets.IsLine()) {
    leg_.street = leg_.forward ? 0 : static_cast<int>(streets.streets().size()) - 1;
  }
  ++visits_[static_cast<size_t>(leg_.street)];
  AppendLane(LaneOf(leg_));
}

bool RouteBuilder::Extend() {
  const Street& street = streets_.streets()[static_cast<size_t>(leg_.street)];
  const int junction = leg_.forward ? street.to : street.from;
  // One of the streets driven least so far, so that a drive sees much of the world.
  int fewest = std::numeric_limits<int>::max();
  std::vector<int> choices;
  for (const int next : streets_.StreetsAt(junction)) {
    if (next == leg_.street) continue;
    const Street& other = streets_.streets()[static_cast<size_t>(next)];
    if (other.one_way && other.from != junction) continue;
    const int visits = visits_[static_cast<size_t>(next)];
    if (visits < fewest) choices.clear();
    fewest = std::min(fewest, visits);
    if (visits == fewest) choices.push_back(next);
  }
  if (choices.empty()) return false;
  const int choice = random_.UniformInt(0, static_cast<int>(choices.size()) - 1);
  const auto next = static_cast<size_t>(choices[static_cast<size_t>(choice)]);
  const Lane from = LaneOf(leg_);
  leg_ = {static_cast<int>(next), streets_.streets()[next].from == junction};
  ++visits_[next];
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

void RouteBuilder::Append(const Eigen::Vector2d& position, const Eigen::Vector2d& heading,
                          double curvature, double elevation_m) {
  const double heading_rad = std::atan2(heading.y(), heading.x());
  if (points_.empty()) {
    points_.push_back(
        {0.0, position, heading_rad, curvature, elevation_m, static_cast<size_t>(leg_.street)});
    return;
  }
  const RoutePoint& last = points_.back();
  const double gone_m = (position - last.position).norm();
  if (gone_m < 1e-6) return;
  points_.push_back({last.arc_m + gone_m, position,
                     last.heading_rad + WrapAngle(heading_rad - last.heading_rad), curvature,
                     elevation_m, static_cast<size_t>(leg_.street)});
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
  // In the tight turns of a small vehicle at least as many as keep the headings smooth.
  const int steps = std::max(kMinTurnSteps, static_cast<int>(std::ceil(speed / kStep_m)));
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
