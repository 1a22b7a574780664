// SPDX-License-Identifier: Apache-2.0
//
// Fills in the options of the chosen scene and of the sensor: what was given, and otherwise the
// defaults of the scene, some of which follow from the seed, and of the sensor. Pure functions.

#ifndef VOXLOC_CLIENTS_SIM_SCENE_DEFAULTS_H_
#define VOXLOC_CLIENTS_SIM_SCENE_DEFAULTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "clients/sim/simulate_arguments.h"

namespace voxloc::sim {

// Sets the beams and the range of `lidar`. InvalidArgument names the presets.
[[nodiscard]] absl::Status SetSensorOptions(const GivenSensor& given, LidarOptions& lidar);

// Sets the options of `options.scene`, the speed and the map's view distance.
void SetSceneOptions(const GivenOptions& given, uint64_t seed, SimulationOptions& options);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SCENE_DEFAULTS_H_
