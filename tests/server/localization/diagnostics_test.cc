// SPDX-License-Identifier: Apache-2.0
//
// The record of the checks around a scan, where a scan does not take the usual way, beside what
// Autoware's node records there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kSecond = 1'000'000'000;

std::vector<std::string> KeysOf(const v1::AlignmentResult& result) {
  std::vector<std::string> keys;
  for (const v1::DiagnosticEntry& entry : result.diagnostics().entries()) {
    keys.push_back(entry.key());
  }
  return keys;
}

v1::DiagnosticEntry EntryOf(const v1::AlignmentResult& result, const std::string& key) {
  for (const v1::DiagnosticEntry& entry : result.diagnostics().entries()) {
    if (entry.key() == key) return entry;
  }
  ADD_FAILURE() << "no key " << key;
  return {};
}

class ScanDiagnostics : public EngineTest {
 protected:
  v1::AlignmentResult Align(const v1::Scan& scan, const std::string& map = "town") {
    v1::OpenSession open =
        TownSession("setup { options { profile: 'autoware' } output { diagnostics: true } }");
    open.mutable_setup()->set_map(map);
    TestSession session(server_, open);
    for (const v1::AlignScansRequest& request : before_) session.Send(request);
    return session.Align(scan);
  }

  // A pose of the client before the scan is sent.
  void AddPose(int64_t stamp_ns, double x) {
    v1::AlignScansRequest& request = before_.emplace_back();
    request.mutable_pose()->set_stamp_ns(stamp_ns);
    Pose pose = VehiclePose();
    pose.translation.x() += x;
    *request.mutable_pose()->mutable_map_t_base()->mutable_pose() = PoseOf(pose);
  }

  TownServer server_{{}, EngineHandle()};
  std::vector<v1::AlignScansRequest> before_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(ScanDiagnostics);

TEST_P(ScanDiagnostics, AMalformedScanEndsItsRecordWithTheReason) {
  const struct {
    std::function<void(v1::Scan&)> spoil;
    const char* text;
  } rows[] = {
      {[](v1::Scan& s) { s.mutable_guess_map_t_base()->mutable_pose()->clear_orientation(); },
       "the scan is malformed: guess_map_t_base.pose.orientation"},
      {[](v1::Scan& s) { s.mutable_guess_map_t_base()->add_covariance(1.0); },
       "malformed: guess_map_t_base.covariance"},
      {[](v1::Scan& s) { s.mutable_reference_position()->set_x(kNanF); }, "reference_position"},
      {[](v1::Scan& s) { s.set_timeout_s(-1.0); }, "malformed: timeout_s"},
      {[](v1::Scan& s) { s.mutable_clouds(0)->mutable_cloud()->mutable_data()->append("x"); },
       "malformed: cloud"},
  };
  for (const auto& row : rows) {
    v1::Scan scan = GoodScan();
    row.spoil(scan);
    const v1::AlignmentResult result = Align(scan);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
    // No check of Autoware's has failed: above all not the one of the transform.
    EXPECT_THAT(KeysOf(result),
                ElementsAre("topic_time_stamp", "sensor_points_size", "skipping_publish_num"));
    EXPECT_EQ(result.diagnostics().level(), v1::DIAGNOSTIC_LEVEL_ERROR);
    EXPECT_THAT(result.diagnostics().message(), HasSubstr(row.text));
    EXPECT_EQ(EntryOf(result, "skipping_publish_num").int_value(), 1);
  }
}

TEST_P(ScanDiagnostics, ScansWithoutUsablePointsEndAtTheCheckThatAutowareHasForThem) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->clear_data();
  v1::AlignmentResult result = Align(scan);
  EXPECT_THAT(KeysOf(result),
              ElementsAre("topic_time_stamp", "sensor_points_size", "skipping_publish_num"));
  EXPECT_EQ(EntryOf(result, "sensor_points_size").int_value(), 0);
  EXPECT_EQ(result.diagnostics().level(), v1::DIAGNOSTIC_LEVEL_WARN);
  EXPECT_THAT(result.diagnostics().message(), HasSubstr("the scan has no points"));

  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf({kNanF, 0.0F, 0.0F});
  result = Align(scan);
  EXPECT_FALSE(EntryOf(result, "is_succeed_transform_sensor_points").bool_value());
  EXPECT_THAT(result.diagnostics().message(), HasSubstr("no point is left"));
}

TEST_P(ScanDiagnostics, AScanWithoutAStampHasNoDelayAndNoWarningOfOne) {
  v1::Scan scan = GoodScan();
  v1::AlignmentResult result = Align(scan);
  // The stamp lies in 1970.
  EXPECT_GT(EntryOf(result, "sensor_points_delay_time_sec").double_value(), 1e9);
  EXPECT_THAT(result.diagnostics().message(), HasSubstr("the scan should be at most 1 s old"));
  scan.clear_stamp_ns();
  result = Align(scan);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(EntryOf(result, "sensor_points_delay_time_sec").double_value(), 0.0);
  EXPECT_THAT(result.diagnostics().message(), Not(HasSubstr("s old")));
}

TEST_P(ScanDiagnostics, OffTheMapTheRecordIsThatOfAnAlignmentThatFindsNoCell) {
  // A map whose box the scan reaches, and that has no cell: the engine is asked.
  PointCloud sparse;
  sparse.PushBack(-20.0F, 0.0F, 0.0F);
  sparse.PushBack(20.0F, 0.0F, 0.0F);
  server_.LoadMap("sparse", sparse);
  const v1::AlignmentResult aligned = Align(GoodScan(), "sparse");
  v1::Scan scan = GoodScan();
  scan.mutable_guess_map_t_base()->mutable_pose()->mutable_position()->set_x(1000.0);
  const v1::AlignmentResult off = Align(scan);
  ASSERT_GT(aligned.timings().batch_size(), 0);
  ASSERT_EQ(off.timings().batch_size(), 0);

  for (const v1::AlignmentResult* result : {&aligned, &off}) {
    EXPECT_EQ(result->status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
    EXPECT_EQ(result->diagnostics().entries_size(), 19);
    EXPECT_TRUE(EntryOf(*result, "is_set_map_points").bool_value());
    EXPECT_EQ(EntryOf(*result, "iteration_num").int_value(), 0);
    EXPECT_EQ(EntryOf(*result, "transform_probability").double_value(), 0.0);
    EXPECT_EQ(EntryOf(*result, "nearest_voxel_transformation_likelihood").double_value(), 0.0);
    EXPECT_EQ(EntryOf(*result, "distance_initial_to_result").double_value(), 0.0);
    EXPECT_EQ(result->diagnostics().level(), v1::DIAGNOSTIC_LEVEL_WARN);
    EXPECT_EQ(EntryOf(*result, "skipping_publish_num").int_value(), 1);
  }
  EXPECT_EQ(KeysOf(aligned), KeysOf(off));
  EXPECT_EQ(aligned.termination_reason(), off.termination_reason());
  EXPECT_EQ(aligned.iterations(), off.iterations());
  EXPECT_EQ(aligned.evaluations(), off.evaluations());
  EXPECT_EQ(aligned.scores().ShortDebugString(), off.scores().ShortDebugString());
  EXPECT_THAT(off.diagnostics().message(), HasSubstr("the scan may reach beyond the map"));
  EXPECT_THAT(off.diagnostics().message(),
              HasSubstr("nearest_voxel_transformation_likelihood must be over 2.3 (got 0)"));
}

TEST_P(ScanDiagnostics, AMapWithoutATileIsNotSet) {
  ASSERT_TRUE(RunUpdate(server_, {BeginRequest("empty"), CommitRequest()}).status.ok());
  const v1::AlignmentResult result = Align(GoodScan(), "empty");
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  EXPECT_EQ(result.diagnostics().entries_size(), 9);
  EXPECT_FALSE(EntryOf(result, "is_set_map_points").bool_value());
  EXPECT_THAT(result.diagnostics().message(), HasSubstr("there is no map"));
}

TEST_P(ScanDiagnostics, AnInterpolatedGuessComesWithItsPosesAndTheirDistanceToTheResult) {
  AddPose(1 * kSecond, -0.6);
  AddPose(1 * kSecond + kSecond / 2, 0.4);
  v1::Scan scan = GoodScan();
  scan.clear_guess_map_t_base();
  scan.set_stamp_ns(1 * kSecond + kSecond / 4);
  const v1::AlignmentResult result = Align(scan);
  ASSERT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  ASSERT_TRUE(result.diagnostics().has_interpolated_guess());
  const v1::InterpolatedGuess& guess = result.diagnostics().interpolated_guess();
  EXPECT_EQ(guess.older_stamp_ns(), 1 * kSecond);
  EXPECT_EQ(guess.newer_stamp_ns(), 1 * kSecond + kSecond / 2);
  const double x = VehiclePose().translation.x();
  EXPECT_NEAR(guess.older_map_t_base().position().x(), x - 0.6, 1e-9);
  EXPECT_NEAR(guess.newer_map_t_base().position().x(), x + 0.4, 1e-9);
  // The result lies at the vehicle's pose.
  EXPECT_NEAR(guess.initial_to_result_distance_old_m(), 0.6, 0.05);
  EXPECT_NEAR(guess.initial_to_result_distance_new_m(), 0.4, 0.05);

  // After the last pose both are that pose.
  scan.set_stamp_ns(1 * kSecond + 3 * kSecond / 4);
  const v1::AlignmentResult after = Align(scan);
  const v1::InterpolatedGuess& last = after.diagnostics().interpolated_guess();
  EXPECT_EQ(last.older_stamp_ns(), 1 * kSecond + kSecond / 2);
  EXPECT_EQ(last.newer_stamp_ns(), 1 * kSecond + kSecond / 2);
  EXPECT_EQ(last.initial_to_result_distance_old_m(), last.initial_to_result_distance_new_m());

  // A guess that the scan brings is not interpolated.
  EXPECT_FALSE(Align(GoodScan()).diagnostics().has_interpolated_guess());
}

}  // namespace
}  // namespace voxloc::server
