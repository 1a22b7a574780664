// SPDX-License-Identifier: Apache-2.0
//
// Sensor presets: the beams and the range of common kinds of LiDAR.
//
//   spinning-16    16 rings, every 2 deg from -15 to 15 deg, 1800 steps, 100 m
//   spinning-32    32 rings from -25 to 15 deg, every third of a degree near the horizon, 1800
//   steps,
//                  200 m
//   spinning-64    64 rings: every half degree from -24.3 to -8.8 deg, every third of a degree up
//   to
//                  2 deg, 2048 steps, 120 m
//   spinning-128   128 rings from -25 to 14.5 deg, every eighth of a degree from -6 to 2 deg, 1800
//                  steps, 200 m
//   solid-state    96 rows from -15 to 15 deg of 350 steps over 70 deg ahead, 150 m
//
// Pure functions.

#ifndef VOXLOC_CLIENTS_SIM_SENSOR_PRESET_H_
#define VOXLOC_CLIENTS_SIM_SENSOR_PRESET_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/sim/lidar.h"

namespace voxloc::sim {

// Sets the beams and the range of `lidar`; the other options stay. InvalidArgument lists the names.
[[nodiscard]] absl::Status SetSensorPreset(absl::string_view name, LidarOptions& lidar);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SENSOR_PRESET_H_
