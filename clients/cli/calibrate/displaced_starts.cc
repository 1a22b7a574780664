// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/displaced_starts.h"

#include <algorithm>
#include <cmath>

#include "core/geometry/euler.h"

namespace voxloc::cli {
namespace {

constexpr int kDistances = 4;
constexpr double kGoldenAngle_rad = 2.399963229728653;  // pi * (3 - sqrt(5))

Pose Displaced(const Pose& map_T_base, double distance_m, double direction_rad, double yaw_deg) {
  const Eigen::Quaterniond turn(
      Eigen::AngleAxisd(yaw_deg * kRadiansPerDegree, Eigen::Vector3d::UnitZ()));
  return {map_T_base.translation +
              distance_m * Eigen::Vector3d(std::cos(direction_rad), std::sin(direction_rad), 0.0),
          (turn * map_T_base.rotation).normalized()};
}

}  // namespace

std::vector<Pose> DisplacedStarts(const Pose& map_T_base, size_t scan_index, double cell_size_m,
                                  double farthest_m) {
  const double nearest_m = std::min(cell_size_m, farthest_m);
  const double sign = scan_index % 2 == 0 ? 1.0 : -1.0;
  std::vector<Pose> starts;
  for (int i = 0; i < kDistances; ++i) {
    const double distance_m =
        nearest_m * std::pow(farthest_m / nearest_m, static_cast<double>(i) / (kDistances - 1));
    const double direction_rad =
        kGoldenAngle_rad * static_cast<double>(scan_index) + M_PI * i / kDistances;
    starts.push_back(Displaced(map_T_base, distance_m, direction_rad, 0.0));
    starts.push_back(Displaced(map_T_base, distance_m, direction_rad + M_PI, 20.0 * sign));
  }
  for (const double yaw_deg : {45.0, 90.0, 180.0}) {
    starts.push_back(Displaced(map_T_base, 0.0, 0.0, yaw_deg * sign));
  }
  return starts;
}

}  // namespace voxloc::cli
