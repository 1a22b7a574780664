// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/sim/lidar.h"

namespace voxloc::sim {
namespace {

// Evenly spaced elevations, from `first_deg` upwards.
struct Rings {
  double first_deg;
  double step_deg;
  int count;
};

struct Preset {
  absl::string_view name;
  std::vector<Rings> rings;
  double field_of_view_deg;
  int azimuth_steps;
  double min_range_m;
  double max_range_m;
};

std::vector<Preset> Presets() {
  return {{"spinning-16", {{-15.0, 2.0, 16}}, 360.0, 1800, 0.5, 100.0},
          {"spinning-32",
           {{-25.0, 0.0, 1},
            {-15.639, 0.0, 1},
            {-11.31, 0.0, 1},
            {-8.843, 0.0, 1},
            {-7.254, 0.0, 1},
            {-6.148, 0.0, 1},
            {-5.333, 0.0, 1},
            {-4.667, 0.0, 1},
            {-4.0, 1.0 / 3.0, 18},
            {2.333, 0.0, 1},
            {3.333, 0.0, 1},
            {4.667, 0.0, 1},
            {7.0, 0.0, 1},
            {10.333, 0.0, 1},
            {15.0, 0.0, 1}},
           360.0,
           1800,
           0.5,
           200.0},
          {"spinning-64", {{-24.33, 0.5, 32}, {-8.33, 1.0 / 3.0, 32}}, 360.0, 2048, 0.9, 120.0},
          {"spinning-128",
           {{-25.0, 0.5, 38}, {-6.0, 0.125, 64}, {2.0, 0.5, 26}},
           360.0,
           1800,
           0.5,
           200.0},
          {"solid-state", {{-15.0, 30.0 / 95.0, 96}}, 70.0, 350, 0.5, 150.0}};
}

}  // namespace

absl::Status SetSensorPreset(absl::string_view name, LidarOptions& lidar) {
  std::string names;
  for (const Preset& preset : Presets()) {
    if (preset.name == name) {
      lidar.elevations_deg.clear();
      for (const Rings& rings : preset.rings) {
        for (int i = 0; i < rings.count; ++i) {
          lidar.elevations_deg.push_back(rings.first_deg + i * rings.step_deg);
        }
      }
      lidar.rings = static_cast<int>(lidar.elevations_deg.size());
      lidar.min_elevation_deg = lidar.elevations_deg.front();
      lidar.max_elevation_deg = lidar.elevations_deg.back();
      lidar.field_of_view_deg = preset.field_of_view_deg;
      lidar.azimuth_steps = preset.azimuth_steps;
      lidar.min_range_m = preset.min_range_m;
      lidar.max_range_m = preset.max_range_m;
      return absl::OkStatus();
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", preset.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("sensor must be one of ", names, " (got '", name, "')"));
}

}  // namespace voxloc::sim
