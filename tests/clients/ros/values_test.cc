// SPDX-License-Identifier: Apache-2.0
//
// The parts of the bridge that need no server: histories, status records, markers, clouds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "clients/cpp/messages.h"
#include "clients/ros/core/bridge_impl.h"
#include "clients/ros/core/histories.h"
#include "clients/ros/core/map_area.h"
#include "clients/ros/core/result_outputs.h"
#include "clients/ros/core/scan_assembler.h"
#include "core/geometry/euler.h"
#include "tests/clients/ros/fake_ports.h"

namespace voxloc::ros {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- histories

std::vector<int64_t> StampsFor(PoseHistory& history, int64_t stamp_ns) {
  std::vector<int64_t> stamps;
  for (const PoseSample& sample : history.TakeFor(stamp_ns)) {
    stamps.push_back(sample.stamp_ns);
  }
  return stamps;
}

TEST(PoseHistory, AScanTakesTheTwoPosesBeforeItAndAllAfter) {
  PoseHistory history;
  for (const int64_t stamp : {10, 20, 30, 40, 50}) history.Push({stamp, Pose(), Matrix6::Zero()});
  EXPECT_THAT(StampsFor(history, 35), ElementsAre(20, 30, 40, 50));
  EXPECT_THAT(StampsFor(history, 40), ElementsAre(30, 40, 50));
  // Newer than all: two are kept, so that the next scan has an older one.
  EXPECT_THAT(StampsFor(history, 99), ElementsAre(40, 50));
  history.Push({60, Pose(), Matrix6::Zero()});
  EXPECT_THAT(StampsFor(history, 55), ElementsAre(40, 50, 60));
}

TEST(PoseHistory, AJumpBackInTimeEmptiesIt) {
  PoseHistory history;
  history.Push({100, Pose(), Matrix6::Zero()});
  history.Push({50, Pose(), Matrix6::Zero()});
  EXPECT_THAT(StampsFor(history, 60), ElementsAre(50));
}

TEST(PoseHistory, IsBounded) {
  PoseHistory history;
  for (int64_t stamp = 0; stamp < 2000; ++stamp) history.Push({stamp, Pose(), Matrix6::Zero()});
  EXPECT_EQ(history.size(), kMaxPoses);
}

TEST(ReferenceHistory, InterpolatesAsAutowareDoes) {
  ReferenceHistory history;
  EXPECT_FALSE(history.TakeAt(0).has_value());
  history.Push({10'000'000'000, {10.0, 20.0, 0.0}});
  EXPECT_FALSE(history.TakeAt(10'000'000'000).has_value()) << "one is too few";
  history.Push({20'000'000'000, {20.0, 40.0, 0.0}});
  EXPECT_FALSE(history.TakeAt(9'999'999'999).has_value()) << "before the first";
  EXPECT_EQ(*history.TakeAt(15'000'000'000), Eigen::Vector3d(15.0, 30.0, 0.0));
  EXPECT_EQ(*history.TakeAt(25'000'000'000), Eigen::Vector3d(20.0, 40.0, 0.0));
  EXPECT_FALSE(history.TakeAt(1'020'000'000'000).has_value()) << "1000 s";
  history.Push({30'000'000'000, {2000.0, 40.0, 0.0}});
  EXPECT_FALSE(history.TakeAt(25'000'000'000).has_value()) << "1000 m";
}

TEST(TwistHistory, InterpolatesAndStaysNear) {
  TwistHistory history;
  Twist slow;
  slow.linear_m_s.x() = 10.0;
  Twist fast;
  fast.linear_m_s.x() = 20.0;
  fast.angular_rad_s.z() = 1.0;
  history.Push({1'000'000'000, slow});
  history.Push({1'100'000'000, fast});
  EXPECT_NEAR(history.At(1'025'000'000)->linear_m_s.x(), 12.5, 1e-12);
  EXPECT_NEAR(history.At(1'025'000'000)->angular_rad_s.z(), 0.25, 1e-12);
  EXPECT_EQ(history.At(1'300'000'000)->linear_m_s.x(), 20.0);
  EXPECT_FALSE(history.At(1'300'000'001).has_value());
  EXPECT_FALSE(history.At(799'999'999).has_value());
}

TEST(OdometryGuess, IsCarriedAlongByTheOdometrySinceItWasGiven) {
  OdometryGuess guess;
  EXPECT_FALSE(guess.At(std::nullopt).has_value());
  const Pose map_T_base{{100.0, 50.0, 0.0}, RotationFromRosAngles(0.0, 0.0, M_PI / 2)};
  const Pose odom_then{{5.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  const Pose odom_now{{7.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  guess.Set({map_T_base, Matrix6::Identity()}, odom_then);
  // Two metres ahead, where ahead is the map's y.
  EXPECT_LT((guess.At(odom_now)->map_T_base.translation - Eigen::Vector3d(100.0, 52.0, 0.0)).norm(),
            1e-12);
  EXPECT_EQ(guess.At(std::nullopt)->map_T_base.translation, map_T_base.translation);
  guess.Clear();
  EXPECT_FALSE(guess.At(odom_now).has_value());
}

TEST(UsableCovariance, IsFiniteSymmetricAndPositiveDefinite) {
  EXPECT_TRUE(UsableCovariance(Matrix6::Identity()).has_value());
  EXPECT_FALSE(UsableCovariance(Matrix6::Zero()).has_value());
  Matrix6 bad = Matrix6::Identity();
  bad(0, 1) = 0.5;
  EXPECT_FALSE(UsableCovariance(bad).has_value());
  bad(1, 0) = 0.5;
  EXPECT_TRUE(UsableCovariance(bad).has_value());
  bad(2, 2) = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(UsableCovariance(bad).has_value());
}

// ---- several LiDARs

struct Cloud {
  int64_t stamp_ns = 0;
  int id = 0;
};

std::vector<std::vector<int>> Ids(const std::vector<std::vector<Cloud>>& scans) {
  std::vector<std::vector<int>> ids;
  for (const std::vector<Cloud>& scan : scans) {
    ids.emplace_back();
    for (const Cloud& cloud : scan) ids.back().push_back(cloud.id);
  }
  return ids;
}

TEST(ScanAssembler, OneSourceIsAScanAtOnce) {
  ScanAssembler<Cloud> assembler(1, 100);
  EXPECT_THAT(Ids(assembler.Add(0, {5, 1})), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(Ids(assembler.Add(0, {6, 2})), ElementsAre(ElementsAre(2)));
}

TEST(ScanAssembler, AScanIsCompleteWithTheCloudsNearItsStamp) {
  ScanAssembler<Cloud> assembler(3, 100);
  EXPECT_THAT(assembler.Add(0, {1000, 1}), IsEmpty());
  EXPECT_THAT(assembler.Add(1, {899, 2}), IsEmpty()) << "too old";
  EXPECT_THAT(assembler.Add(1, {900, 3}), IsEmpty());
  EXPECT_THAT(Ids(assembler.Add(2, {1100, 4})), ElementsAre(ElementsAre(1, 3, 4)));
  // Clouds that come before the leading one count as well.
  EXPECT_THAT(assembler.Add(1, {2000, 5}), IsEmpty());
  EXPECT_THAT(assembler.Add(2, {2000, 6}), IsEmpty());
  EXPECT_THAT(Ids(assembler.Add(0, {2000, 7})), ElementsAre(ElementsAre(7, 5, 6)));
}

TEST(ScanAssembler, TheNextLeadingCloudEndsTheWait) {
  ScanAssembler<Cloud> assembler(2, 100);
  EXPECT_THAT(assembler.Add(0, {1000, 1}), IsEmpty());
  EXPECT_THAT(Ids(assembler.Add(0, {2000, 2})), ElementsAre(ElementsAre(1)));
  EXPECT_EQ(assembler.missing(1), 1u);
}

TEST(ScanAssembler, ASilentSourceIsNotWaitedForUntilItIsBack) {
  ScanAssembler<Cloud> assembler(2, 100);
  for (int i = 1; i <= 3; ++i) EXPECT_LE(assembler.Add(0, {1000 * i, i}).size(), 1u);
  // The third that goes without it, and the first that does not wait.
  EXPECT_THAT(Ids(assembler.Add(0, {4000, 4})), ElementsAre(ElementsAre(3), ElementsAre(4)));
  EXPECT_THAT(Ids(assembler.Add(0, {5000, 5})), ElementsAre(ElementsAre(5)));
  EXPECT_THAT(assembler.Add(1, {6000, 6}), IsEmpty());
  EXPECT_THAT(Ids(assembler.Add(0, {6000, 7})), ElementsAre(ElementsAre(7, 6)));
  EXPECT_THAT(assembler.Add(0, {7000, 8}), IsEmpty()) << "it is waited for again";
}

// ---- status records

TEST(StatusReport, WritesAsAutowaresDiagnosticsInterface) {
  StatusReport report("ndt_scan_matcher", kScanMatchingStatus);
  report.SetInt("stamp", 1'700'000'000'000'000'000);
  report.SetDouble("score", 3.25);
  report.SetBool("flag", true);
  report.SetBool("flag", false);
  report.SetInt("last", 1);
  EXPECT_EQ(report.Status().message, "OK");
  EXPECT_EQ(report.Status().level, DiagnosticStatus::kOk);
  report.Warn("first");
  report.Error("second");
  report.Warn("third");
  const DiagnosticStatus status = report.Status();
  EXPECT_EQ(status.name, "ndt_scan_matcher: scan_matching_status");
  EXPECT_EQ(status.hardware_id, "ndt_scan_matcher");
  EXPECT_EQ(status.level, DiagnosticStatus::kError);
  EXPECT_EQ(status.message, "first; second; third");
  EXPECT_THAT(KeysOf(status), ElementsAre("stamp", "score", "flag", "last"));
  EXPECT_EQ(ValueOf(status, "stamp"), "1700000000000000000");
  EXPECT_EQ(ValueOf(status, "score"), "3.250000");
  EXPECT_EQ(ValueOf(status, "flag"), "False");
}

TEST(ScanStatus, StampsInThePastAndInTheFutureWarnAndGoOn) {
  const Parameters parameters;
  for (const auto& [delay_s, level] : {std::pair{0.5, DiagnosticStatus::kOk},
                                       {1.5, DiagnosticStatus::kWarn},
                                       {-0.5, DiagnosticStatus::kOk},
                                       {-1.5, DiagnosticStatus::kWarn}}) {
    ScanStatus status("node", parameters, 7);
    status.CheckDelay(delay_s);
    SkippedScans skipped;
    const DiagnosticStatus record = status.Finish(true, true, skipped);
    EXPECT_EQ(record.level, level) << delay_s;
    EXPECT_EQ(ValueOf(record, "sensor_points_delay_time_sec"), std::to_string(delay_s));
  }
}

TEST(ScanStatus, CountsScansInARowWithoutAPose) {
  const Parameters parameters;
  SkippedScans skipped;
  const auto finish = [&](bool published, bool active) {
    return ScanStatus("node", parameters, 7).Finish(published, active, skipped);
  };
  for (int i = 1; i <= 4; ++i) {
    const DiagnosticStatus status = finish(false, true);
    EXPECT_EQ(status.level, DiagnosticStatus::kOk);
    EXPECT_EQ(ValueOf(status, "skipping_publish_num"), std::to_string(i));
  }
  EXPECT_EQ(finish(false, true).level, DiagnosticStatus::kWarn) << "the fifth";
  EXPECT_EQ(ValueOf(finish(false, false), "skipping_publish_num"), "0") << "inactive";
  EXPECT_EQ(ValueOf(finish(false, true), "skipping_publish_num"), "1");
  EXPECT_EQ(ValueOf(finish(true, true), "skipping_publish_num"), "0");
}

TEST(MapArea, LooksAtTheMapWhenTheVehicleHasMoved) {
  MapArea area{DynamicMapLoadingParameters()};
  const auto check = [&area](bool active, std::optional<Eigen::Vector3d> position,
                             DiagnosticStatus* status) {
    StatusReport report("node", kMapUpdateStatus);
    const bool due = area.Check(active, position, report);
    *status = report.Status();
    return due;
  };
  DiagnosticStatus status;
  EXPECT_FALSE(check(false, Eigen::Vector3d::Zero(), &status));
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_FALSE(check(true, std::nullopt, &status));
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(ValueOf(status, "is_set_last_update_position"), "False");
  EXPECT_TRUE(check(true, Eigen::Vector3d::Zero(), &status)) << "the first position";
  EXPECT_FALSE(check(true, Eigen::Vector3d(12.0, 16.0, 99.0), &status)) << "20 m, not farther";
  EXPECT_EQ(ValueOf(status, "distance_last_update_position_to_current_position"), "20.000000");
  EXPECT_EQ(status.level, DiagnosticStatus::kOk);
  EXPECT_TRUE(check(true, Eigen::Vector3d(12.0, 16.1, 0.0), &status));
  EXPECT_TRUE(check(true, Eigen::Vector3d(12.0, 66.2, 0.0), &status)) << "50.1 m at once";
  EXPECT_EQ(status.level, DiagnosticStatus::kError);
  area.Reset();
  EXPECT_TRUE(check(true, Eigen::Vector3d(12.0, 66.2, 0.0), &status));
}

// ---- what is drawn

TEST(Markers, ColoursAreAutowaresOverTheWholeScale) {
  const Color blue = ColorOfRatio(-1.0);
  EXPECT_NEAR(blue.b, 1.0F, 1e-6);
  EXPECT_NEAR(blue.r + blue.g, 0.0F, 1e-6);
  const Color cyan = ColorOfRatio(0.25);
  EXPECT_NEAR(cyan.b, 1.0F, 1e-6);
  EXPECT_NEAR(cyan.g, 1.0F, 1e-6);
  const Color yellow = ColorOfRatio(0.75);
  EXPECT_NEAR(yellow.r, 1.0F, 1e-6);
  EXPECT_NEAR(yellow.g, 1.0F, 1e-6);
  EXPECT_NEAR(yellow.b, 0.0F, 1e-6);
  const Color red = ColorOfRatio(2.0);
  EXPECT_NEAR(red.r, 1.0F, 1e-6);
  EXPECT_NEAR(red.g, 0.0F, 1e-3);
  EXPECT_EQ(red.a, 0.999F);
}

TEST(Markers, StepsBeginAtTheGuessAndCoverThoseOfAnEarlierScan) {
  v1::AlignmentTrace trace;
  for (int i = 1; i <= 3; ++i) {
    client::EncodePose(Pose{{1.0 * i, 0, 0}, Eigen::Quaterniond::Identity()},
                       trace.add_iterations()->mutable_map_t_base_after());
  }
  const auto markers = StepMarkers(trace, Pose(), {5, "map"}, 30);
  ASSERT_EQ(markers.size(), 32u);
  for (size_t i = 0; i < markers.size(); ++i) {
    EXPECT_EQ(markers[i].id, static_cast<int32_t>(i));
    EXPECT_EQ(markers[i].ns, "result_pose_matrix_array");
    EXPECT_EQ(markers[i].pose.translation.x(), i <= 3 ? static_cast<double>(i) : 0.0);
  }
  EXPECT_EQ(markers[2].color.b, ColorOfRatio(3.0 / 15.0).b);
  EXPECT_EQ(markers[10].color.b, 1.0F);
}

TEST(Markers, AParticleHasSixArrows) {
  v1::SearchParticle particle;
  particle.set_index(40);
  particle.set_iterations(15);
  particle.mutable_scores()->set_nvtl(4.5 * 0.75);
  client::EncodePose(Pose(), particle.mutable_start_map_t_base());
  client::EncodePose(Pose{{9.0, 0, 0}, Eigen::Quaterniond::Identity()},
                     particle.mutable_map_t_base());
  const auto markers = ParticleMarkers(particle, {5, "map"});
  std::vector<std::string> names;
  for (const ArrowMarker& marker : markers) {
    names.push_back(marker.ns);
    EXPECT_EQ(marker.id, 40);
    EXPECT_EQ(marker.lifetime_s, 10.0);
  }
  EXPECT_THAT(names,
              ElementsAre("initial_pose_transform_probability_color_marker",
                          "initial_pose_iteration_color_marker", "initial_pose_index_color_marker",
                          "result_pose_transform_probability_color_marker",
                          "result_pose_iteration_color_marker", "result_pose_index_color_marker"));
  EXPECT_EQ(markers[5].pose.translation.x(), 9.0);
  EXPECT_NEAR(markers[0].color.r, 1.0F, 1e-6);  // 0.75
  EXPECT_NEAR(markers[1].color.g, 1.0F, 1e-6);  // 0.5
  EXPECT_EQ(markers[2].color.b, ColorOfRatio(0.4).b);
}

TEST(OutputClouds, ColourTheMatchedPoints) {
  PointCloud points;
  points.PushBack(1.0F, 2.0F, 3.0F);
  points.PushBack(4.0F, 5.0F, 6.0F);
  points.origin = Eigen::Vector3d(100.0, 0.0, 0.0);
  v1::Cloud cloud;
  client::EncodeCloud(points, &cloud);
  v1::PointScores scores;
  scores.add_best_score(0.0F);
  scores.add_best_score(2.0F);
  scores.set_rgb(std::string("\0\0\0\x11\x22\x33", 6));
  const auto coloured = ScoreCloud({5, "map"}, cloud, scores);
  ASSERT_TRUE(coloured.ok()) << coloured.status();
  EXPECT_EQ(coloured->width, 1u) << "points without a match are left out";
  EXPECT_EQ(coloured->point_step, 16u);
  EXPECT_EQ(coloured->fields[3].name, "rgb");
  float xyz[3];
  std::memcpy(xyz, coloured->data.data(), sizeof(xyz));
  EXPECT_EQ(xyz[0], 104.0F);
  uint32_t rgb = 0;
  std::memcpy(&rgb, coloured->data.data() + 12, sizeof(rgb));
  EXPECT_EQ(rgb, 0x112233u);
  scores.add_best_score(1.0F);
  EXPECT_THAT(std::string(ScoreCloud({}, cloud, scores).status().message()), HasSubstr("got 3"));
}

}  // namespace
}  // namespace voxloc::ros
