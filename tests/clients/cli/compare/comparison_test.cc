// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "clients/cli/report/report.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kPeriod_ns = 100'000'000;

Pose PoseAt(double x, double y, double yaw_deg) {
  return Pose{Eigen::Vector3d(x, y, 0.0), Eigen::Quaterniond(Eigen::AngleAxisd(
                                              yaw_deg * M_PI / 180.0, Eigen::Vector3d::UnitZ()))};
}

Pose RandomPose(std::mt19937* random, double metres) {
  std::uniform_real_distribution<double> between(-1.0, 1.0);
  const auto next = [&] { return between(*random); };
  Pose pose;
  pose.translation = metres * Eigen::Vector3d(next(), next(), next());
  pose.rotation = Eigen::Quaterniond(next(), next(), next(), next()).normalized();
  return pose;
}

// Scan `index`, 0.1 s after the one before it.
ReplayRow RowAt(size_t index, const std::optional<Pose>& pose, bool accepted) {
  v1::AlignmentResult result;
  result.set_status(accepted ? v1::ALIGNMENT_STATUS_OK : v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.set_accepted(accepted);
  result.set_iterations(3);
  result.mutable_scores()->set_nvtl(2.5);
  result.mutable_scores()->set_transform_probability(5.0);
  if (pose.has_value()) client::EncodePose(*pose, result.mutable_map_t_base()->mutable_pose());
  ReplayRow row;
  row.index = index;
  row.stamp_ns = static_cast<int64_t>(index) * kPeriod_ns;
  row.file = "scan";
  FillRow(result, 8.0, &row);
  return row;
}

RecordedScan ScanWith(const std::optional<Pose>& pose, std::optional<double> nvtl) {
  RecordedScan scan;
  scan.map_T_base = pose;
  scan.values[1] = nvtl;
  return scan;
}

TEST(PoseDifference, IsThatOfTheMatrices) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const Pose recorded = RandomPose(&random, 100.0);
    const Pose found = RandomPose(&random, 100.0);
    const Eigen::Matrix4d between = recorded.Matrix().inverse() * found.Matrix();
    const PoseDifference difference = PoseDifferenceOf(recorded, found);
    const Eigen::Vector3d translation = between.topRightCorner<3, 1>();
    EXPECT_NEAR(difference[kTranslation], translation.norm(), 1e-9);
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(difference[kTranslation + 1 + static_cast<size_t>(axis)], translation[axis],
                  1e-9);
    }
    // R = Rz(yaw) Ry(pitch) Rx(roll), written out.
    const double degrees = 180.0 / M_PI;
    const double angles_deg[] = {degrees * std::atan2(between(2, 1), between(2, 2)),
                                 degrees * -std::asin(between(2, 0)),
                                 degrees * std::atan2(between(1, 0), between(0, 0))};
    for (size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(difference[kRotation + 1 + axis], angles_deg[axis], 1e-5) << axis;
    }
    const double cosine = (between.trace() - 2.0) / 2.0;
    EXPECT_NEAR(difference[kRotation], degrees * std::acos(std::clamp(cosine, -1.0, 1.0)), 1e-4);
  }
}

TEST(PoseDifference, IsAlongTheAxesOfTheRecordedBase) {
  // The vehicle looks along the map's y axis: what is ahead of it is +y, what is left of it is -x.
  const PoseDifference difference =
      PoseDifferenceOf(PoseAt(10.0, 20.0, 90.0), PoseAt(9.9, 20.3, 92.0));
  EXPECT_NEAR(difference[1], 0.3, 1e-12);
  EXPECT_NEAR(difference[2], 0.1, 1e-12);
  EXPECT_NEAR(difference[7], 2.0, 1e-9);
}

TEST(Comparison, PairsVerdictsByStamps) {
  const Pose pose = PoseAt(1.0, 2.0, 3.0);
  std::vector<ReplayRow> rows = {RowAt(0, pose, true),  RowAt(1, pose, true), RowAt(2, pose, false),
                                 RowAt(3, pose, false), RowAt(4, pose, true), RowAt(5, {}, false)};
  rows[5].answered = false;
  RecordedRun recorded;
  recorded.has_values = true;
  recorded.scans[0 * kPeriod_ns] = ScanWith(pose, 2.75);
  recorded.scans[1 * kPeriod_ns] = ScanWith({}, 2.0);
  recorded.scans[2 * kPeriod_ns] = ScanWith(pose, {});
  recorded.scans[3 * kPeriod_ns] = ScanWith({}, 2.25);
  recorded.scans[5 * kPeriod_ns] = ScanWith(pose, 2.0);
  recorded.scans[3 * kPeriod_ns + 1] = ScanWith(pose, 2.0);  // voxloc has no such scan
  recorded.scans[-1] = ScanWith(pose, 2.0);                  // nor is it in the drive
  recorded.scans[9 * kPeriod_ns] = ScanWith(pose, 2.0);
  const Comparison comparison = CompareWithRecorded(rows, recorded, CompareThresholds());
  const std::vector<VerdictPair> expected = {VerdictPair::kBothAccepted, VerdictPair::kOnlyVoxloc,
                                             VerdictPair::kOnlyRecorded, VerdictPair::kNeither,
                                             VerdictPair::kNotRecorded,  VerdictPair::kUnanswered};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(comparison.scans[i].verdicts, expected[i]) << i;
    EXPECT_EQ(comparison.Count(expected[i]), 1u);
  }
  EXPECT_EQ(comparison.only_recorded_scans, 1u);
  EXPECT_DOUBLE_EQ(comparison.verdict_agreement, 0.5);
  EXPECT_DOUBLE_EQ(comparison.compared_share, 4.0 / 7.0);
  EXPECT_EQ(comparison.difference[kTranslation].count, 2u);  // scans 0 and 2 have both poses
  // The scores of scans 0, 1 and 3: |2.5 - 2.75|, |2.5 - 2|, |2.5 - 2.25|.
  EXPECT_EQ(comparison.values[1].difference.count, 3u);
  EXPECT_DOUBLE_EQ(comparison.values[1].difference.mean, 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(comparison.values[1].recorded.max, 2.75);
  EXPECT_EQ(comparison.values[0].voxloc.count, 0u);
}

TEST(Comparison, ChecksThePercentileOfTheDifferences) {
  // Differences of 1 to 20 mm and 0.01 to 0.2 degrees: the 95th percentile by nearest rank is the
  // 19th.
  std::vector<ReplayRow> rows;
  RecordedRun recorded;
  for (size_t i = 0; i < 20; ++i) {
    const double k = static_cast<double>((i * 7) % 20 + 1);
    rows.push_back(RowAt(i, PoseAt(5.0 + 0.001 * k, 0.0, 0.01 * k), true));
    recorded.scans[rows.back().stamp_ns] = ScanWith(PoseAt(5.0, 0.0, 0.0), {});
  }
  const auto compare = [&](double max_position_m, double max_rotation_deg, double percentile) {
    return CompareWithRecorded(rows, recorded,
                               {max_position_m, max_rotation_deg, percentile, 1.0, 1.0});
  };
  const Comparison fits = compare(0.0195, 0.195, 95.0);
  EXPECT_NEAR(fits.checks[0].value, 0.019, 1e-12);
  EXPECT_NEAR(fits.checks[1].value, 0.19, 1e-9);
  EXPECT_EQ(fits.checks[2].value, 1.0);
  EXPECT_TRUE(fits.Passed(ReplaySetting()));
  EXPECT_FALSE(compare(0.0185, 0.195, 95.0).Passed(ReplaySetting()));
  EXPECT_FALSE(compare(0.0195, 0.185, 95.0).Passed(ReplaySetting()));
  EXPECT_FALSE(compare(0.0195, 0.195, 100.0).Passed(ReplaySetting()));
  EXPECT_TRUE(compare(0.0105, 0.105, 50.0).Passed(ReplaySetting()));
}

TEST(Comparison, IsNotPassedWhereFewScansWereCompared) {
  const Pose pose = PoseAt(1.0, 0.0, 0.0);
  std::vector<ReplayRow> rows;
  for (size_t i = 0; i < 100; ++i) rows.push_back(RowAt(i, pose, true));
  const auto compare = [&rows](const RecordedRun& recorded, double min_compared) {
    CompareThresholds thresholds;
    thresholds.min_compared = min_compared;
    return CompareWithRecorded(rows, recorded, thresholds);
  };
  RecordedRun all;
  all.has_values = true;
  for (const ReplayRow& row : rows) all.scans[row.stamp_ns] = ScanWith(pose, 2.5);
  EXPECT_TRUE(compare(all, 1.0).Passed(ReplaySetting()));

  RecordedRun part = all;  // nothing of the last 10 scans
  part.scans.erase(part.scans.lower_bound(90 * kPeriod_ns), part.scans.end());
  EXPECT_DOUBLE_EQ(compare(part, 0.9).compared_share, 0.9);
  EXPECT_TRUE(compare(part, 0.9).Passed(ReplaySetting()));
  EXPECT_FALSE(compare(part, 0.91).Passed(ReplaySetting()));

  RecordedRun beside = all;  // stamps that were not sent
  for (int64_t i = 0; i < 25; ++i) beside.scans[i * kPeriod_ns + 1] = ScanWith(pose, 2.5);
  EXPECT_DOUBLE_EQ(compare(beside, 0.8).compared_share, 0.8);
  EXPECT_TRUE(compare(beside, 0.8).Passed(ReplaySetting()));
  EXPECT_FALSE(compare(beside, 0.9).Passed(ReplaySetting()));

  for (size_t i = 0; i < 20; ++i) rows[5 * i].answered = false;
  EXPECT_DOUBLE_EQ(compare(all, 0.9).compared_share, 0.8);
  const Comparison unanswered = compare(all, 0.9);
  EXPECT_FALSE(unanswered.Passed(ReplaySetting()));
  EXPECT_THAT(ComparisonText(ReplaySetting(), all, unanswered),
              HasSubstr("FAIL  compared 80.00 % of the scans, at least 90 %\nFAIL\n"));
  const Json json = ComparisonJson(ReplaySetting(), all, unanswered);
  EXPECT_EQ(json["compared_share"], 0.8);
  EXPECT_EQ(json["checks"][3]["name"], "compared_share");
  EXPECT_EQ(json["checks"][3]["passed"], false);
}

TEST(Comparison, IsNotPassedWhereTheDriveEndedEarly) {
  const std::vector<ReplayRow> rows = {RowAt(0, PoseAt(1.0, 0.0, 0.0), true)};
  RecordedRun recorded;
  recorded.scans[0] = ScanWith(PoseAt(1.0, 0.0, 0.0), {});
  const Comparison comparison = CompareWithRecorded(rows, recorded, CompareThresholds());
  EXPECT_EQ(ComparisonJson(ReplaySetting(), recorded, comparison)["passed"], true);
  ReplaySetting setting;
  setting.ended_early = "interrupted after 1 of 2 scans";
  EXPECT_FALSE(comparison.Passed(setting));
  EXPECT_EQ(ComparisonJson(setting, recorded, comparison)["passed"], false);
  EXPECT_THAT(ComparisonText(setting, recorded, comparison), EndsWith("\nFAIL\n"));
}

TEST(Comparison, IsNotPassedWithoutAnythingToCompare) {
  RecordedRun recorded;
  recorded.has_values = true;
  const std::vector<ReplayRow> rows = {RowAt(0, PoseAt(1.0, 0.0, 0.0), true)};
  const Comparison comparison = CompareWithRecorded(rows, recorded, CompareThresholds());
  EXPECT_FALSE(comparison.Passed(ReplaySetting()));
  for (const CompareCheck& check : comparison.checks) EXPECT_FALSE(check.passed) << check.name;
  EXPECT_THAT(ComparisonText(ReplaySetting(), recorded, comparison),
              HasSubstr("FAIL  position_m: nothing to compare\n"));
  EXPECT_FALSE(CompareWithRecorded({}, recorded, CompareThresholds()).Passed(ReplaySetting()));
}

TEST(Comparison, IsWrittenAsTextJsonAndPage) {
  const Pose pose = PoseAt(1.0, 2.0, 3.0);
  const std::vector<ReplayRow> rows = {RowAt(0, PoseAt(1.5, 2.0, 3.0), true)};
  RecordedRun recorded;
  recorded.poses = "/pose</script>";
  RecordedScan scan = ScanWith(pose, 2.75);
  scan.diagnostics_level = 1;
  scan.diagnostics_message = "slow";
  recorded.scans[0] = scan;
  const Comparison comparison = CompareWithRecorded(rows, recorded, CompareThresholds());
  const std::string text = ComparisonText(ReplaySetting(), recorded, comparison);
  EXPECT_THAT(text, HasSubstr("FAIL  p95 of the position difference 500.00 mm, at most 20 mm\n"));
  EXPECT_THAT(text, HasSubstr("PASS  same verdict in 100.00 % of the scans, at least 99 %\n"));
  EXPECT_THAT(text, HasSubstr("NVTL"));
  EXPECT_THAT(text, Not(HasSubstr("iterations")));  // not recorded

  const Json json = ComparisonJson(ReplaySetting(), recorded, comparison);
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["verdicts"]["BOTH_ACCEPTED"], 1);
  const Json& row = json["results"][0];
  EXPECT_NEAR(row["difference"]["translation_m"], 0.5, 1e-12);
  EXPECT_EQ(row["recorded"]["nvtl"], 2.75);
  EXPECT_TRUE(row["recorded"]["iterations"].is_null());
  EXPECT_EQ(row["voxloc"]["iterations"], 3.0);
  EXPECT_EQ(row["recorded"]["diagnostics"]["level"], "WARN");

  const std::string page = CompareHtml(json);
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, Not(HasSubstr("/pose</script>")));
  EXPECT_THAT(page, HasSubstr("\"diagnostics\":{\"level\":\"WARN\",\"message\":\"slow\"}"));
}

}  // namespace
}  // namespace voxloc::cli
