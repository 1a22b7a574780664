// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/fused_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <vector>

#include "clients/cli/replay/replay_results.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A vehicle that heads along the map's y: its left is the map's -x.
Pose Truth() {
  return {Eigen::Vector3d(10.0, 20.0, 0.5),
          Eigen::Quaterniond(Eigen::AngleAxisd(M_PI / 2, Eigen::Vector3d::UnitZ()))};
}

// An answer whose own pose is the truth and whose pose by the filter is off by `error_map_m`, with
// a standard deviation of 0.1 m along the map's x and z and of 0.2 m along its y.
ReplayRow RowFusedOff(const Eigen::Vector3d& error_map_m, bool accepted = true) {
  v1::AlignmentResult result;
  result.set_status(accepted ? v1::ALIGNMENT_STATUS_OK : v1::ALIGNMENT_STATUS_DEGENERATE);
  result.set_accepted(accepted);
  client::EncodePose(Truth(), result.mutable_map_t_base()->mutable_pose());
  v1::FusedPose& fused = *result.mutable_fused();
  Pose pose = Truth();
  pose.translation += error_map_m;
  client::EncodePose(pose, fused.mutable_map_t_base()->mutable_pose());
  const double variances[] = {0.01, 0.04, 0.01, 0.0, 0.0, 0.0};
  for (int i = 0; i < 36; ++i) {
    fused.mutable_map_t_base()->add_covariance(i % 7 == 0 ? variances[i / 7] : 0.0);
  }
  for (int axis = 0; axis < 6; ++axis) {
    fused.add_sources(axis == 0 ? v1::AXIS_SOURCE_MOTION : v1::AXIS_SOURCE_SCAN);
    fused.add_distance_since_observed_m(axis == 0 ? 7.5 : 0.0);
  }
  fused.set_resets(1);
  fused.set_scan_used(accepted);
  if (!accepted) fused.set_detail("it was not accepted");
  fused.set_odometry_scale(0.99);
  fused.set_odometry_scale_sigma(0.002);
  ReplayRow row;
  row.truth_map_T_base = Truth();
  FillRow(result, 1.0, &row);
  return row;
}

Json JsonOf(const std::vector<ReplayRow>& rows) {
  return ReplayJson(ReplaySetting(), SummarizeReplay(rows), rows);
}

TEST(FusedRow, IsMeasuredAlongTheVehiclesAxesBesideTheAnswersOwnPose) {
  const Json row = JsonOf({RowFusedOff({-0.1, 0.5, 0.02}, false)})["results"][0];
  EXPECT_EQ(row["translation_error_m"], 0.0);
  const Json& fused = row["fused"];
  EXPECT_NEAR(fused["translation_error_m"].get<double>(), std::sqrt(0.01 + 0.25 + 0.0004), 1e-12);
  EXPECT_EQ(fused["rotation_error_deg"], 0.0);
  EXPECT_NEAR(fused["error_m"]["along"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(fused["error_m"]["across"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(fused["error_m"]["up"].get<double>(), 0.02, 1e-12);
  EXPECT_NEAR(fused["sigma_m"]["along"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(fused["sigma_m"]["across"].get<double>(), 0.1, 1e-12);
  EXPECT_EQ(fused["within_3_sigma"], Json::parse(R"({"along": true, "across": true, "up": true})"));
  EXPECT_NEAR(fused["pose"][1].get<double>(), 20.5, 1e-12);
  EXPECT_EQ(fused["covariance"].size(), 36U);
  EXPECT_EQ(fused["sources"], Json::parse(R"(["motion", "scan", "scan", "scan", "scan", "scan"])"));
  EXPECT_EQ(fused["distance_since_observed_m"], Json::parse("[7.5, 0.0, 0.0, 0.0, 0.0, 0.0]"));
  EXPECT_EQ(fused["resets"], 1);
  EXPECT_EQ(fused["scan_used"], false);
  EXPECT_EQ(fused["detail"], "it was not accepted");
  EXPECT_EQ(fused["odometry_scale"], 0.99);
  EXPECT_EQ(fused["odometry_scale_sigma"], 0.002);
}

TEST(FusedRow, IsThereOfAnAnswerWithoutAPoseOfItsOwn) {
  ReplayRow row;
  row.truth_map_T_base = Truth();
  v1::AlignmentResult result = RowFusedOff({0.0, 0.1, 0.0}).result;
  result.set_status(v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  result.clear_map_t_base();
  FillRow(result, 1.0, &row);
  EXPECT_FALSE(row.map_T_base.has_value());
  ASSERT_TRUE(row.fused.has_value());
  EXPECT_NEAR(row.fused->error.base_m.x(), 0.1, 1e-12);
  // A pose without a rotation is none.
  result.mutable_fused()->mutable_map_t_base()->mutable_pose()->clear_orientation();
  FillRow(result, 1.0, &row);
  EXPECT_FALSE(row.fused.has_value());
}

TEST(FusedSummary, CountsOverAllAnswersAndTellsThoseOutsideThreeSigmaThatWereAccepted) {
  const std::vector<ReplayRow> rows = {RowFusedOff({0.0, 0.0, 0.0}), RowFusedOff({0.29, 0.0, 0.0}),
                                       RowFusedOff({0.31, 0.5, 0.0}),
                                       RowFusedOff({0.0, -0.61, 0.0}, false)};
  const Json json = JsonOf(rows)["fused"];
  EXPECT_EQ(json["poses"], 4);
  EXPECT_EQ(json["scans_used"], 3);
  EXPECT_EQ(json["resets"], 1);
  EXPECT_EQ(json["within_3_sigma"], Json::parse(R"({"along": 3, "across": 3, "up": 4, "of": 4})"));
  EXPECT_EQ(json["accepted_outside_3_sigma"], 1);
  EXPECT_NEAR(json["error_m"]["along"]["max"].get<double>(), 0.61, 1e-12);
  EXPECT_NEAR(json["error_m"]["across"]["p50"].get<double>(), 0.0, 1e-12);
  EXPECT_NEAR(json["end_m"]["along"].get<double>(), -0.61, 1e-12);
  EXPECT_NEAR(json["end_error_m"].get<double>(), 0.61, 1e-12);
  EXPECT_TRUE(json["beyond_dead_reckoning_m"].is_null()) << "there is no odometry";
}

TEST(FusedSummary, ComparesWithDeadReckoningAtTheSameScan) {
  std::vector<ReplayRow> rows = {RowFusedOff({0.0, 0.5, 0.0}), RowFusedOff({0.0, 0.7, 0.0})};
  const double dead_reckoned_off_m[] = {0.2, 4.2};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].dead_reckoned_map_T_base = Truth();
    rows[i].dead_reckoned_map_T_base->translation.y() -= dead_reckoned_off_m[i];
  }
  EXPECT_NEAR(JsonOf(rows)["fused"]["beyond_dead_reckoning_m"].get<double>(), 0.3, 1e-12);
  const std::string text = SummaryText(ReplaySetting(), SummarizeReplay(rows));
  EXPECT_THAT(text, HasSubstr("fused pose ends 0.70 m off, at most 0.70 m, and at most 0.30 m "
                              "beyond dead reckoning\n"));
  EXPECT_THAT(text, HasSubstr("fused pose within 3 sigma: along 1, across 2, up 2 of 2, outside at "
                              "1 accepted answers\n"));
  EXPECT_THAT(text, HasSubstr("filter: 2 of 2 results used, resets 1\n"));
  EXPECT_THAT(text, HasSubstr("fused position error, cm"));
}

TEST(FusedSummary, IsNullWithoutAFilter) {
  ReplayRow row;
  FillRow(v1::AlignmentResult(), 1.0, &row);
  const Json json = JsonOf({row});
  EXPECT_TRUE(json["fused"].is_null());
  EXPECT_TRUE(json["results"][0]["fused"].is_null());
  EXPECT_TRUE(json["fusion"].is_null());
  EXPECT_THAT(SummaryText(ReplaySetting(), SummarizeReplay({row})), Not(HasSubstr("fused")));
}

}  // namespace
}  // namespace voxloc::cli
