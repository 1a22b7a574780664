// SPDX-License-Identifier: Apache-2.0
//
// What a drive taught: the entry of the calibration file, and a table for people.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_CALIBRATION_REPORT_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_CALIBRATION_REPORT_H_

#include <cstddef>
#include <optional>
#include <string>

#include "clients/cli/calibrate/innovations.h"
#include "clients/cli/output/output.h"
#include "core/estimate/calibration/sensor_calibration.h"

namespace voxloc::cli {

// The bends of simulated maps are waves of 42 m and more (clients/sim/map_drift.h): half of that.
constexpr double kLongDistanceM = 20.0;

struct LearntCalibration {
  std::string drive;  // for people: the directory of the scans, the map, the date
  size_t scans = 0;
  size_t accepted = 0;
  size_t observed = 0;  // of those, the ones that observe all axes
  size_t halves = 0;
  std::optional<Estimated> scan_part_factor;  // nullopt: no scan had two halves that were accepted
  LearntSystematic systematic;
};

// `known`, with what the drive taught in its place and the origin of each constant. Sigmas are the
// upper ends of their intervals. Those of position and rotation are made smaller only where answers
// were compared over kLongDistanceM: over less, they share what a bent map does to both. The factor
// of the scan part is replaced where its interval lies above 1: a drive is no reason to believe in
// less.
[[nodiscard]] SensorCalibration ApplyLearnt(const LearntCalibration& learnt,
                                            SensorCalibration known);

[[nodiscard]] std::string LearntText(const LearntCalibration& learnt,
                                     const SensorCalibration& written);

[[nodiscard]] Json LearntJson(const LearntCalibration& learnt);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_CALIBRATION_REPORT_H_
