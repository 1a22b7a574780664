// SPDX-License-Identifier: Apache-2.0
//
// Drive: a vehicle's way through a world with the exact pose of its sensor at each scan.
//
// The vehicle follows a Route at the speed that its limits allow, its wheels on the ground or the
// floor above it, so it rolls and pitches with the slope. The sensor sits above the middle of the
// vehicle, x ahead, y left, z along the vehicle's up. `base` is the sensor's own frame: scans and
// poses are of the sensor. The first scans of a longer drive are those of a shorter one. Const
// after construction.

#ifndef VOXLOC_CLIENTS_SIM_DRIVE_H_
#define VOXLOC_CLIENTS_SIM_DRIVE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/sim/options.h"
#include "clients/sim/route.h"
#include "clients/sim/world.h"
#include "core/geometry/pose.h"

namespace voxloc::sim {

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
  // At each scan.
  [[nodiscard]] std::vector<DrivePose> Scans() const;

 private:
  // When the vehicle passes each point of the route, and how fast.
  struct Schedule {
    std::vector<double> speed_mps;
    std::vector<double> time_s;
  };

  Drive(const World& world, const DriveOptions& options) : world_(&world), options_(options) {}
  [[nodiscard]] static Schedule MakeSchedule(const std::vector<RoutePoint>& route,
                                             const DriveOptions& options);

  const World* world_;
  DriveOptions options_;
  std::vector<RoutePoint> route_;
  Schedule schedule_;
};

// The scans of Drive::Plan.
[[nodiscard]] absl::StatusOr<std::vector<DrivePose>> PlanDrive(const World& world,
                                                               const DriveOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_DRIVE_H_
