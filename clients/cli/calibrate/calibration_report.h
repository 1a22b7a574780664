// SPDX-License-Identifier: Apache-2.0
//
// Output of a calibration: the entry of the calibration file, and a table for the terminal.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_CALIBRATION_REPORT_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_CALIBRATION_REPORT_H_

#include <cstddef>
#include <optional>
#include <string>

#include "clients/cli/calibrate/innovations.h"
#include "clients/cli/output/output.h"
#include "core/estimate/calibration/sensor_calibration.h"

namespace voxloc::cli {

// Half of the shortest wavelength, 42 m, of the drift in simulated maps
// (clients/sim/map_changes.h).
constexpr double kLongDistanceM = 20.0;

struct CalibrationEstimate {
  std::string drive;  // for people: the directory of the scans, the map, the date
  size_t scans = 0;
  size_t accepted = 0;
  size_t observed = 0;  // of those, the ones that observe all axes
  size_t halves = 0;
  std::optional<IntervalEstimate>
      scan_part_factor;  // nullopt: no scan had two halves that were accepted
  SystematicEstimate systematic;
};

// `known`, with what the drive taught in its place and the origin of each constant. Sigmas are the
// upper ends of their intervals. Those of position and rotation are made smaller only where answers
// were compared over kLongDistanceM: over less, they share what a bent map does to both. The factor
// of the scan part is replaced where its interval lies above 1: a drive is no reason to believe in
// less.
[[nodiscard]] SensorCalibration ApplyEstimate(const CalibrationEstimate& estimates,
                                              SensorCalibration known);

[[nodiscard]] std::string CalibrationText(const CalibrationEstimate& estimates,
                                          const SensorCalibration& written);

[[nodiscard]] Json CalibrationJson(const CalibrationEstimate& estimates);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_CALIBRATION_REPORT_H_
