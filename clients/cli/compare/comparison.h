// SPDX-License-Identifier: Apache-2.0
//
// voxloc's results of a drive beside those of a recorded localizer, scan by scan: how far the poses
// are apart, whether the verdicts agree, and whether the differences are within thresholds. Pure
// functions.

#ifndef VOXLOC_CLIENTS_CLI_COMPARE_COMPARISON_H_
#define VOXLOC_CLIENTS_CLI_COMPARE_COMPARISON_H_

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/compare/recorded_run.h"
#include "clients/cli/output/output.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/dataset/summary.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// The defaults are ten times what the golden sets allow the profile autoware (2 mm and 0.02 degrees
// from Autoware's code): room for what a recording does not say, such as a cloud in another frame.
struct CompareThresholds {
  double max_position_m = 0.02;
  double max_rotation_deg = 0.2;
  double percentile = 95.0;  // of the differences, which has to stay within both
  double min_verdict_agreement = 0.99;
  // A choice: room for the start of a drive, before the localizer has its first pose, and for
  // messages that were lost. Where the stamps are of another drive, hardly any scan is compared.
  double min_compared = 0.9;
};

// voxloc minus recorded: distance and angle, and both along the axes of the base at the recorded
// pose, with the angles of ROS.
struct DifferenceField {
  const char* key;    // in JSON, with its unit
  const char* title;  // for people
  int digits;         // after the point
  double factor;      // of the unit for people
};
inline constexpr std::array<DifferenceField, 8> kDifferenceFields = {{
    {"translation_m", "position difference, mm", 2, 1e3},
    {"x_m", "  x, mm", 2, 1e3},
    {"y_m", "  y, mm", 2, 1e3},
    {"z_m", "  z, mm", 2, 1e3},
    {"rotation_deg", "rotation difference, deg", 4, 1.0},
    {"roll_deg", "  roll, deg", 4, 1.0},
    {"pitch_deg", "  pitch, deg", 4, 1.0},
    {"yaw_deg", "  yaw, deg", 4, 1.0},
}};
inline constexpr size_t kTranslation = 0;  // of the fields
inline constexpr size_t kRotation = 4;
using PoseDifference = std::array<double, kDifferenceFields.size()>;
[[nodiscard]] PoseDifference PoseDifferenceOf(const Pose& recorded_map_T_base,
                                              const Pose& map_T_base);

enum class VerdictPair {
  kBothAccepted,
  kOnlyVoxloc,  // accepted by it alone
  kOnlyRecorded,
  kNeither,
  kNotRecorded,  // the recorded localizer did not align the scan
  kUnanswered,   // by the server
};
inline constexpr std::array<const char*, 6> kVerdictPairNames = {
    "BOTH_ACCEPTED", "ONLY_VOXLOC", "ONLY_RECORDED", "NEITHER", "NOT_RECORDED", "UNANSWERED"};

struct ScanComparison {
  const ReplayRow* row = nullptr;        // outlives the comparison
  std::optional<RecordedScan> recorded;  // nullopt: kNotRecorded
  VerdictPair verdicts = VerdictPair::kNotRecorded;
  RecordedNumbers values;                    // of voxloc; without a pose all nullopt
  std::optional<PoseDifference> difference;  // nullopt: one of the two has no pose
};

struct CompareCheck {
  const char* name;  // the key in JSON
  double value = 0.0;
  double limit = 0.0;
  bool passed = false;
};

// Of one value, over the scans for which both have it.
struct ValueComparison {
  Summary voxloc;
  Summary recorded;
  Summary difference;  // magnitudes
};

struct Comparison {
  std::vector<ScanComparison> scans;
  std::array<size_t, kVerdictPairNames.size()> verdicts{};
  std::map<std::string, size_t> statuses;  // of voxloc's answers
  // Scans that the recorded localizer aligned between the first and the last of `scans`, and that
  // voxloc was not given.
  size_t only_recorded_scans = 0;
  double verdict_agreement = 0.0;  // of the scans that both have; NaN: there is none
  // Of the scans that either side has, `only_recorded_scans` included, the share with two verdicts.
  // NaN: there is no scan.
  double compared_share = 0.0;
  // Magnitudes, over the scans that have a difference.
  std::array<Summary, kDifferenceFields.size()> difference;
  std::array<ValueComparison, kRecordedValues.size()> values;
  // Of position, rotation, verdicts and share; what cannot be computed is not passed.
  std::vector<CompareCheck> checks;
  double percentile = 0.0;  // of the checks

  [[nodiscard]] size_t Count(VerdictPair pair) const { return verdicts[static_cast<size_t>(pair)]; }
  // All checks, over a drive that did not end early.
  [[nodiscard]] bool Passed(const ReplaySetting& setting) const;
};

// `rows` must outlive the comparison.
[[nodiscard]] Comparison CompareWithRecorded(const std::vector<ReplayRow>& rows,
                                             const RecordedRun& recorded,
                                             const CompareThresholds& thresholds);

// The table at the end, and whether it is passed. `setting`: guess and scans are those that were
// compared.
[[nodiscard]] std::string ComparisonText(const ReplaySetting& setting, const RecordedRun& recorded,
                                         const Comparison& comparison);

// docs/cli.md describes every key.
[[nodiscard]] Json ComparisonJson(const ReplaySetting& setting, const RecordedRun& recorded,
                                  const Comparison& comparison);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMPARE_COMPARISON_H_
