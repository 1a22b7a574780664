// SPDX-License-Identifier: Apache-2.0
//
// Drive: a vehicle's way through a world with the exact pose of its sensor at each scan.
//
// The vehicle follows a route at the speed that its limits allow, its wheels on the ground or the
// floor above it, so it rolls and pitches with the slope. The sensor sits above the middle of the
// vehicle, x ahead, y left, z along the vehicle's up. `base` is the sensor's own frame: scans and
// poses are of the sensor. The first scans of a longer drive are those of a shorter one. Const
// after construction.

#ifndef VOXLOC_CLIENTS_SIM_DRIVE_H_
#define VOXLOC_CLIENTS_SIM_DRIVE_H_

#include <Eigen/Core>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/options.h"
#include "clients/sim/random.h"
#include "clients/sim/street_network.h"
#include "clients/sim/world.h"
#include "core/geometry/pose.h"

namespace voxloc::sim {

// A sample of a route, which follow each other by about a quarter of a metre.
struct RoutePoint {
  double arc_m = 0.0;  // from the start of the route
  Eigen::Vector2d position = Eigen::Vector2d::Zero();
  double heading_rad = 0.0;  // unwrapped: no jumps by full turns
  double curvature = 0.0;    // 1/m, positive to the left
  double elevation_m = 0.0;  // of the floor above the ground
  size_t street = 0;         // or, in a turn, the street behind it
  // When the vehicle passes, and how fast; set by Drive.
  double speed_mps = 0.0;
  double time_s = 0.0;
};

// A line to drive along. The right lanes of a random walk through the streets, joined in the
// junctions by turns whose curvature is continuous and zero at both ends.
class RouteBuilder {
 public:
  // `streets` must outlive the builder. The walk starts on a random street, or at one of the ends
  // of streets in a line (at the first one where they are one-way), and never turns back.
  RouteBuilder(const StreetNetwork& streets, uint64_t seed);

  // Appends the next junction and street. False at a dead end, where it appends nothing.
  bool Extend();

  [[nodiscard]] const std::vector<RoutePoint>& points() const { return points_; }

 private:
  struct Leg {
    int street;
    bool forward;
  };
  struct Lane {
    Eigen::Vector2d start;
    Eigen::Vector2d end;
    Eigen::Vector2d direction;
    double start_elevation_m;
    double end_elevation_m;
  };
  [[nodiscard]] Lane LaneOf(const Leg& leg) const;
  void Append(const Eigen::Vector2d& position, const Eigen::Vector2d& heading, double curvature,
              double elevation_m);
  void AppendLane(const Lane& lane);
  void AppendTurn(const Lane& from, const Lane& to);

  const StreetNetwork& streets_;
  Random random_;
  Leg leg_;
  std::vector<int> visits_;  // per street
  std::vector<RoutePoint> points_;
};

struct DriveOptions {
  uint64_t seed = 1;
  int scans = 200;                     // [1, 100000]
  double rate_hz = 10.0;               // scans a second, [0.1, 100]
  double max_speed_mps = 8.0;          // [0.1, 40]
  double max_lateral_mps2 = 2.0;       // in turns, [0.1, 10]
  double max_longitudinal_mps2 = 1.5;  // speeding up and braking, [0.1, 10]
  double sensor_height_m = 1.9;        // above the ground, [0.3, 10]
  double tail_s = 0.0;                 // the drive continues after the last scan, [0, 10]
};

[[nodiscard]] OptionRows ListOptions(const DriveOptions& options);

struct DrivePose {
  double stamp_s = 0.0;  // from the start of the drive
  double speed_mps = 0.0;
  Pose world_T_sensor;
};

class Drive {
 public:
  // `world` must outlive the drive.
  [[nodiscard]] static absl::StatusOr<Drive> Plan(const World& world, const DriveOptions& options);

  // At a moment from the drive's start to the end of its tail. Any number of threads may ask.
  [[nodiscard]] DrivePose At(double stamp_s) const;
  // With the times and speeds at which it is driven; it may go on behind the end of the tail.
  [[nodiscard]] const std::vector<RoutePoint>& route() const { return route_; }
  // At each scan.
  [[nodiscard]] std::vector<DrivePose> Scans() const;

 private:
  Drive(const World& world, const DriveOptions& options, std::vector<RoutePoint> route)
      : world_(&world), options_(options), route_(std::move(route)) {}

  const World* world_;
  DriveOptions options_;
  std::vector<RoutePoint> route_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_DRIVE_H_
