// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/odometry.h"

#include <algorithm>
#include <cmath>

#include "clients/sim/random.h"
#include "core/geometry/covariance.h"

namespace voxloc::sim {
namespace {

// Streams of chance, one per concern.
enum OdometryStream : uint64_t { kStepNoise = 1, kSlips };

double StretchLength(const OdometryOptions& options) { return 1000.0 / options.slips_per_km; }

// The way that the wheels count between two moments of the drive, given by the way since its start.
double CountedWay(const OdometryOptions& options, double from_m, double to_m) {
  double counted_m = to_m - from_m;
  if (options.slips_per_km == 0.0) return counted_m;
  const auto last = static_cast<uint64_t>(to_m / StretchLength(options));
  for (auto i = static_cast<uint64_t>(from_m / StretchLength(options)); i <= last; ++i) {
    const WheelSlip slip = SlipInStretch(options, i);
    const double shared_m = std::min(to_m, slip.to_m) - std::max(from_m, slip.from_m);
    counted_m += slip.share * std::max(0.0, shared_m);
  }
  return counted_m;
}

}  // namespace

OptionRows ListOptions(const OdometryOptions& options) {
  return {{"seed", options.seed},
          {"scale_error", options.scale_error, "odometry scale error", -0.5, 0.5},
          {"position_noise_m", options.position_noise_m, "odometry position noise", 0.0, 1.0},
          {"rotation_noise_rad", options.rotation_noise_rad, "odometry rotation noise", 0.0, 0.1},
          {"yaw_bias_radps", options.yaw_bias_radps, "odometry yaw bias", -0.1, 0.1},
          {"slips_per_km", options.slips_per_km, "odometry slips per km", 0.0, 50.0},
          {"slip_length_m", options.slip_length_m, "odometry slip length", 0.1, 10.0},
          {"slip_size", options.slip_size, "odometry slip size", 0.0, 1.0}};
}

WheelSlip SlipInStretch(const OdometryOptions& options, uint64_t stretch) {
  Random random(options.seed, kSlips, stretch);
  const double length_m = options.slip_length_m * random.Uniform(0.5, 1.5);
  const double from_m = StretchLength(options) * static_cast<double>(stretch) +
                        random.Uniform(0.0, StretchLength(options) - length_m);
  return {from_m, from_m + length_m, random.Chance(0.5) ? options.slip_size : -options.slip_size};
}

std::vector<Pose> OdometryOf(const std::vector<DrivePose>& drive, const OdometryOptions& options) {
  std::vector<Pose> odometry(std::min<size_t>(1, drive.size()));
  double way_m = 0.0;
  for (size_t i = 1; i < drive.size(); ++i) {
    Pose step = drive[i - 1].world_T_sensor.Inverse() * drive[i].world_T_sensor;
    const double driven_m = step.translation.norm();
    if (driven_m > 0.0) {
      step.translation *=
          (1.0 + options.scale_error) * CountedWay(options, way_m, way_m + driven_m) / driven_m;
    }
    way_m += driven_m;
    Random random(options.seed, kStepNoise, i);
    Vector6 error;
    for (double& axis : error.head<3>()) axis = random.Normal(options.position_noise_m);
    for (double& axis : error.tail<3>()) axis = random.Normal(options.rotation_noise_rad);
    error[5] += options.yaw_bias_radps * (drive[i].stamp_s - drive[i - 1].stamp_s);
    const Pose wrong = ApplyFixedAxesDifference(Pose(), error);
    odometry.push_back(odometry.back() *
                       Pose{step.translation + wrong.translation, step.rotation * wrong.rotation});
  }
  return odometry;
}

}  // namespace voxloc::sim
