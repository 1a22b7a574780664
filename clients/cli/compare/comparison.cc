// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "core/geometry/euler.h"

namespace voxloc::cli {
namespace {

VerdictPair VerdictsOf(const ReplayRow& row, const std::optional<RecordedScan>& recorded) {
  if (!row.answered) return VerdictPair::kUnanswered;
  if (!recorded.has_value()) return VerdictPair::kNotRecorded;
  const bool published = recorded->map_T_base.has_value();
  if (row.accepted) return published ? VerdictPair::kBothAccepted : VerdictPair::kOnlyVoxloc;
  return published ? VerdictPair::kOnlyRecorded : VerdictPair::kNeither;
}

ScanComparison CompareScan(const ReplayRow& row, const RecordedRun& recorded) {
  ScanComparison scan;
  scan.row = &row;
  scan.recorded = recorded.At(row.stamp_ns);
  scan.verdicts = VerdictsOf(row, scan.recorded);
  if (!row.map_T_base.has_value()) return scan;
  // In the order of kRecordedValues. The time is the round trip: the recorded one also is that from
  // the message to the result.
  scan.values = {row.result.scores().transform_probability(), row.result.scores().nvtl(),
                 static_cast<double>(row.result.iterations()), row.latency_ms};
  if (scan.recorded.has_value() && scan.recorded->map_T_base.has_value()) {
    scan.difference = PoseDifferenceOf(*scan.recorded->map_T_base, *row.map_T_base);
  }
  return scan;
}

size_t CountOnlyRecorded(const std::vector<ReplayRow>& rows, const RecordedRun& recorded) {
  std::set<int64_t> sent;
  for (const ReplayRow& row : rows) sent.insert(row.stamp_ns);
  if (sent.empty()) return 0;
  size_t count = 0;
  const auto end = recorded.scans.upper_bound(*sent.rbegin());
  for (auto scan = recorded.scans.lower_bound(*sent.begin()); scan != end; ++scan) {
    if (sent.count(scan->first) == 0 && recorded.At(scan->first).has_value()) ++count;
  }
  return count;
}

ValueComparison CompareValue(const std::vector<ScanComparison>& scans, size_t k) {
  std::vector<double> voxloc;
  std::vector<double> recorded;
  std::vector<double> difference;
  for (const ScanComparison& scan : scans) {
    if (!scan.recorded.has_value() || !scan.recorded->values[k] || !scan.values[k]) continue;
    voxloc.push_back(*scan.values[k]);
    recorded.push_back(*scan.recorded->values[k]);
    difference.push_back(std::abs(voxloc.back() - recorded.back()));
  }
  return {Summarize(std::move(voxloc)), Summarize(std::move(recorded)),
          Summarize(std::move(difference))};
}

// Magnitudes of a field of the differences, in ascending order.
std::vector<double> MagnitudesOf(const std::vector<ScanComparison>& scans, size_t field) {
  std::vector<double> values;
  for (const ScanComparison& scan : scans) {
    if (scan.difference.has_value()) values.push_back(std::abs((*scan.difference)[field]));
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

PoseDifference PoseDifferenceOf(const Pose& recorded_map_T_base, const Pose& map_T_base) {
  const Pose recorded_T_base = recorded_map_T_base.Inverse() * map_T_base;
  const Eigen::Vector3d& base_m = recorded_T_base.translation;
  const Eigen::Vector3d rotation_deg =
      kDegreesPerRadian * RosAnglesFromRotation(recorded_T_base.rotation);
  return {TranslationDistance(recorded_map_T_base, map_T_base),
          base_m.x(),
          base_m.y(),
          base_m.z(),
          kDegreesPerRadian * RotationDistance(recorded_map_T_base, map_T_base),
          rotation_deg.x(),
          rotation_deg.y(),
          rotation_deg.z()};
}

bool Comparison::Passed(const ReplaySetting& setting) const {
  return setting.ended_early.empty() &&
         std::all_of(checks.begin(), checks.end(),
                     [](const CompareCheck& check) { return check.passed; });
}

Comparison CompareWithRecorded(const std::vector<ReplayRow>& rows, const RecordedRun& recorded,
                               const CompareThresholds& thresholds) {
  Comparison comparison;
  comparison.percentile = thresholds.percentile;
  for (const ReplayRow& row : rows) {
    comparison.scans.push_back(CompareScan(row, recorded));
    ++comparison.verdicts[static_cast<size_t>(comparison.scans.back().verdicts)];
    ++comparison.statuses[row.status];
  }
  comparison.only_recorded_scans = CountOnlyRecorded(rows, recorded);
  const auto same = static_cast<double>(comparison.Count(VerdictPair::kBothAccepted) +
                                        comparison.Count(VerdictPair::kNeither));
  const auto different = static_cast<double>(comparison.Count(VerdictPair::kOnlyVoxloc) +
                                             comparison.Count(VerdictPair::kOnlyRecorded));
  comparison.verdict_agreement = same / (same + different);
  comparison.compared_share =
      (same + different) / static_cast<double>(rows.size() + comparison.only_recorded_scans);

  for (size_t field = 0; field < kDifferenceFields.size(); ++field) {
    comparison.difference[field] = Summarize(MagnitudesOf(comparison.scans, field));
  }
  for (size_t k = 0; k < kRecordedValues.size(); ++k) {
    comparison.values[k] = CompareValue(comparison.scans, k);
  }
  const double position_m =
      NearestRank(MagnitudesOf(comparison.scans, kTranslation), thresholds.percentile);
  const double rotation_deg =
      NearestRank(MagnitudesOf(comparison.scans, kRotation), thresholds.percentile);
  // A comparison with NaN is false.
  comparison.checks = {
      {"position_m", position_m, thresholds.max_position_m,
       position_m <= thresholds.max_position_m},
      {"rotation_deg", rotation_deg, thresholds.max_rotation_deg,
       rotation_deg <= thresholds.max_rotation_deg},
      {"verdict_agreement", comparison.verdict_agreement, thresholds.min_verdict_agreement,
       comparison.verdict_agreement >= thresholds.min_verdict_agreement},
      {"compared_share", comparison.compared_share, thresholds.min_compared,
       comparison.compared_share >= thresholds.min_compared}};
  return comparison;
}

}  // namespace voxloc::cli
