// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/drive.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/sim/furniture.h"
#include "core/status/try.h"

namespace voxloc::sim {
namespace {

constexpr double kHalfWheelbase_m = 1.35;
constexpr double kHalfTrack_m = 0.8;
constexpr double kMaxRoute_m = 200'000.0;

// The floor's height above the ground under a vehicle's axles.
struct AxleElevations {
  double front_m;
  double rear_m;
};

// The elevation of the route at `arc_m`, which lies close to the route's point `near`.
double ElevationAt(const std::vector<RoutePoint>& route, size_t near, double arc_m) {
  while (near > 0 && route[near].arc_m > arc_m) --near;
  while (near + 2 < route.size() && route[near + 1].arc_m < arc_m) ++near;
  const RoutePoint& from = route[near];
  const RoutePoint& to = route[near + 1];
  const double fraction = std::clamp((arc_m - from.arc_m) / (to.arc_m - from.arc_m), 0.0, 1.0);
  return from.elevation_m + fraction * (to.elevation_m - from.elevation_m);
}

// The sensor's pose when the vehicle stands at `position`, its four wheels on the floor.
Pose PoseOnGround(const Ground& ground, const Eigen::Vector2d& position, double heading_rad,
                  const AxleElevations& elevations, double sensor_height_m) {
  const Eigen::Vector2d ahead(std::cos(heading_rad), std::sin(heading_rad));
  const Eigen::Vector2d left(-ahead.y(), ahead.x());
  double mean = 0.0;
  double rise_ahead = 0.0;
  double rise_left = 0.0;
  for (const double x : {-1.0, 1.0}) {
    for (const double y : {-1.0, 1.0}) {
      const Eigen::Vector2d wheel =
          position + x * kHalfWheelbase_m * ahead + y * kHalfTrack_m * left;
      const double height =
          ground.Height(wheel.x(), wheel.y()) + (x > 0.0 ? elevations.front_m : elevations.rear_m);
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

Drive::Schedule Drive::MakeSchedule(const std::vector<RoutePoint>& route,
                                    const DriveOptions& options) {
  Schedule schedule;
  std::vector<double>& speed = schedule.speed_mps;
  for (const RoutePoint& point : route) {
    const double bend = std::max(1e-9, std::abs(point.curvature));
    speed.push_back(std::min(options.max_speed_mps, std::sqrt(options.max_lateral_mps2 / bend)));
  }
  const auto reachable = [&](double from_mps, size_t segment) {
    const double length_m = route[segment + 1].arc_m - route[segment].arc_m;
    return std::sqrt(from_mps * from_mps + 2.0 * options.max_longitudinal_mps2 * length_m);
  };
  for (size_t i = route.size() - 1; i-- > 0;) {
    speed[i] = std::min(speed[i], reachable(speed[i + 1], i));
  }
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    speed[i + 1] = std::min(speed[i + 1], reachable(speed[i], i));
  }
  schedule.time_s.push_back(0.0);
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    const double length_m = route[i + 1].arc_m - route[i].arc_m;
    schedule.time_s.push_back(schedule.time_s.back() + 2.0 * length_m / (speed[i] + speed[i + 1]));
  }
  return schedule;
}

absl::StatusOr<Drive> Drive::Plan(const World& world, const DriveOptions& options) {
  VOXLOC_TRY(Validate(options));
  const double last_stamp_s = (options.scans - 1) / options.rate_hz + options.tail_s;
  // The route goes on until braking for what lies behind its end cannot reach back to the last
  // scan.
  const double braking_s = 2.0 * options.max_speed_mps / options.max_longitudinal_mps2;
  RouteBuilder route(world.streets, options.seed);
  const std::string description =
      absl::StrCat("a drive of ", options.scans, " scans at ", options.rate_hz, " Hz and ",
                   options.max_speed_mps, " m/s");
  bool dead_end = false;
  double planned_m = 0.0;
  Schedule schedule;
  do {
    planned_m = std::max(1.5 * planned_m, 200.0);
    if (planned_m > kMaxRoute_m) {
      return absl::InvalidArgumentError(
          absl::StrCat(description, " is over ", kMaxRoute_m / 1000.0, " km long"));
    }
    while (!dead_end && route.points().back().arc_m < planned_m) dead_end = !route.Extend();
    schedule = MakeSchedule(route.points(), options);
  } while (!dead_end && schedule.time_s.back() < last_stamp_s + braking_s);
  if (schedule.time_s.back() < last_stamp_s) {
    return absl::InvalidArgumentError(
        absl::StrCat(description, " takes ", last_stamp_s, " s, but the street ends after ",
                     route.points().back().arc_m, " m and ", schedule.time_s.back(), " s"));
  }

  Drive drive(world, options);
  drive.route_ = route.points();
  drive.schedule_ = std::move(schedule);
  return drive;
}

DrivePose Drive::At(double stamp_s) const {
  const std::vector<double>& times = schedule_.time_s;
  const auto next = std::lower_bound(times.begin() + 1, times.end() - 1, stamp_s);
  const auto i = static_cast<size_t>(next - times.begin()) - 1;
  const RoutePoint& from = route_[i];
  const RoutePoint& to = route_[i + 1];
  // The speed changes evenly within a segment.
  const double since_s = stamp_s - times[i];
  const double acceleration =
      (schedule_.speed_mps[i + 1] - schedule_.speed_mps[i]) / (times[i + 1] - times[i]);
  const double gone_m = since_s * (schedule_.speed_mps[i] + 0.5 * acceleration * since_s);
  const double fraction = std::clamp(gone_m / (to.arc_m - from.arc_m), 0.0, 1.0);
  const Eigen::Vector2d position = from.position + fraction * (to.position - from.position);
  const double heading = from.heading_rad + fraction * (to.heading_rad - from.heading_rad);
  const double arc_m = from.arc_m + fraction * (to.arc_m - from.arc_m);
  const AxleElevations elevations = {ElevationAt(route_, i, arc_m + kHalfWheelbase_m),
                                     ElevationAt(route_, i, arc_m - kHalfWheelbase_m)};
  return {stamp_s, schedule_.speed_mps[i] + acceleration * since_s,
          PoseOnGround(world_->scene.ground(), position, heading, elevations,
                       options_.sensor_height_m)};
}

std::vector<DrivePose> Drive::Scans() const {
  std::vector<DrivePose> scans;
  scans.reserve(static_cast<size_t>(options_.scans));
  for (int scan = 0; scan < options_.scans; ++scan) scans.push_back(At(scan / options_.rate_hz));
  return scans;
}

absl::StatusOr<std::vector<DrivePose>> PlanDrive(const World& world, const DriveOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const Drive drive, Drive::Plan(world, options));
  return drive.Scans();
}

}  // namespace voxloc::sim
