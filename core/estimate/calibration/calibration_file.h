// SPDX-License-Identifier: Apache-2.0
//
// Files of sensor calibrations. JSON:
//
//   {"sensors": [{"name": "roof",
//                 "systematic_time_sigma_s": {"value": 0.004, "origin": "measured on ..."},
//                 "mount_offset_m": {"value": [0, 0, 0.01], "origin": "drawing 17"}}]}
//
// Each constant has a value (a number, or three along or about the base's axes) and an origin. A
// missing constant is that of the built-in sensor. An entry named "default" replaces the built-in
// sensor, which is that of sessions without a sensor name.
//
// Errors: NotFound and Unavailable of the file; InvalidArgument with the file, the path of the key
// ("sensors[0].scan_scale.value"), and what is wrong: no JSON, an unknown key with the nearest
// known one, a value of another type or outside its limits, no name, a name that occurs twice.

#ifndef VOXLOC_CORE_ESTIMATE_CALIBRATION_CALIBRATION_FILE_H_
#define VOXLOC_CORE_ESTIMATE_CALIBRATION_CALIBRATION_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/estimate/calibration/sensor_calibration.h"

namespace voxloc {

[[nodiscard]] absl::StatusOr<SensorCalibrations> ReadCalibrationFile(const std::string& path);

// Parses the content of such a file; `name` is used in error messages.
[[nodiscard]] absl::StatusOr<SensorCalibrations> ParseCalibrations(absl::string_view json,
                                                                   absl::string_view name);

// A text that reads back as the same values, with every constant of every sensor.
[[nodiscard]] std::string CalibrationsText(const SensorCalibrations& calibrations);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_CALIBRATION_CALIBRATION_FILE_H_
