// SPDX-License-Identifier: Apache-2.0
//
// Files of sensor calibrations.

#include "core/estimate/calibration/sensor_calibration.h"

#include <string>

#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzSensorCalibration(absl::string_view bytes) {
  const auto calibrations = ParseCalibrations(bytes, "sensors.json");
  if (!calibrations.ok()) return calibrations.status();
  for (const SensorCalibration& sensor : calibrations->sensors()) {
    FuzzRequire(ValidateSensorCalibration(sensor).ok(), "a calibration is within its limits");
  }
  const std::string text = CalibrationsText(*calibrations);
  const auto again = ParseCalibrations(text, "again");
  FuzzRequire(again.ok(), "what was written can be read");
  FuzzRequire(CalibrationsText(*again) == text, "what was written comes back");
  return absl::OkStatus();
}

}  // namespace voxloc
