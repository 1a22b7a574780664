// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/sim/lidar.h"

namespace voxloc::sim {
namespace {

struct Beams {
  std::vector<double> elevations_deg;
  double field_of_view_deg;
  int azimuth_steps;
  double min_range_m;
  double max_range_m;
};

// `count` elevations from `first_deg` upwards.
void AppendEvenly(double first_deg, double step_deg, int count, std::vector<double>& elevations) {
  for (int i = 0; i < count; ++i) elevations.push_back(first_deg + i * step_deg);
}

Beams Spinning16() {
  Beams beams = {{}, 360.0, 1800, 0.5, 100.0};
  AppendEvenly(-15.0, 2.0, 16, beams.elevations_deg);
  return beams;
}

Beams Spinning32() {
  Beams beams = {
      {-25.0, -15.639, -11.31, -8.843, -7.254, -6.148, -5.333, -4.667}, 360.0, 1800, 0.5, 200.0};
  AppendEvenly(-4.0, 1.0 / 3.0, 18, beams.elevations_deg);
  for (const double elevation_deg : {2.333, 3.333, 4.667, 7.0, 10.333, 15.0}) {
    beams.elevations_deg.push_back(elevation_deg);
  }
  return beams;
}

Beams Spinning64() {
  Beams beams = {{}, 360.0, 2048, 0.9, 120.0};
  AppendEvenly(-24.33, 0.5, 32, beams.elevations_deg);
  AppendEvenly(-8.33, 1.0 / 3.0, 32, beams.elevations_deg);
  return beams;
}

Beams Spinning128() {
  Beams beams = {{}, 360.0, 1800, 0.5, 200.0};
  AppendEvenly(-25.0, 0.5, 38, beams.elevations_deg);
  AppendEvenly(-6.0, 0.125, 64, beams.elevations_deg);
  AppendEvenly(2.0, 0.5, 26, beams.elevations_deg);
  return beams;
}

Beams SolidState() {
  Beams beams = {{}, 70.0, 350, 0.5, 150.0};
  AppendEvenly(-15.0, 30.0 / 95.0, 96, beams.elevations_deg);
  return beams;
}

struct Preset {
  absl::string_view name;
  Beams (*beams)();
};
constexpr Preset kPresets[] = {{"spinning-16", Spinning16},
                               {"spinning-32", Spinning32},
                               {"spinning-64", Spinning64},
                               {"spinning-128", Spinning128},
                               {"solid-state", SolidState}};

}  // namespace

absl::Status SetSensorPreset(absl::string_view name, LidarOptions& lidar) {
  std::string names;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) {
      const Beams beams = preset.beams();
      lidar.elevations_deg = beams.elevations_deg;
      lidar.rings = static_cast<int>(beams.elevations_deg.size());
      lidar.min_elevation_deg = beams.elevations_deg.front();
      lidar.max_elevation_deg = beams.elevations_deg.back();
      lidar.field_of_view_deg = beams.field_of_view_deg;
      lidar.azimuth_steps = beams.azimuth_steps;
      lidar.min_range_m = beams.min_range_m;
      lidar.max_range_m = beams.max_range_m;
      return absl::OkStatus();
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", preset.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("sensor must be one of ", names, " (got '", name, "')"));
}

}  // namespace voxloc::sim
