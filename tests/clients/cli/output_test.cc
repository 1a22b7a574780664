// SPDX-License-Identifier: Apache-2.0
//
// What results carry on request, as people and programs read it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "clients/cli/output/result_text.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

TEST(OutputText, WhatWasNotAskedForIsNull) {
  const v1::AlignmentResult result;
  EXPECT_TRUE(TraceJson(result).is_null());
  EXPECT_TRUE(DiagnosticsJson(result).is_null());
  EXPECT_TRUE(PointScoresJson(result).is_null());
  EXPECT_TRUE(NoGroundJson(result).is_null());
}

TEST(OutputText, TraceHasALineForEachStep) {
  v1::AlignmentResult result;
  for (int i = 0; i < 2; ++i) {
    v1::TraceIteration& step = *result.mutable_trace()->add_iterations();
    step.set_stage(static_cast<uint32_t>(i));
    step.mutable_map_t_base()->mutable_position()->set_x(10.0 + i);
    step.mutable_map_t_base()->mutable_orientation()->set_w(1.0);
    step.mutable_scores()->set_nvtl(3.25);
    step.set_step_length(0.125);
    step.set_reversed(i == 1);
  }
  const std::string text = TraceText(result.trace());
  EXPECT_THAT(text, HasSubstr("\n   1      0  10.000"));
  EXPECT_THAT(text, HasSubstr("\n   2      1  11.000"));
  EXPECT_THAT(text, HasSubstr("3.250"));
  EXPECT_THAT(text, HasSubstr("0.12500 back\n"));
  const Json json = TraceJson(result);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["map_t_base"][0], 11.0);
  EXPECT_EQ(json[1]["scores"]["nvtl"], 3.25);
}

TEST(OutputText, DiagnosticsHaveAutowaresKeysInTheirTypes) {
  v1::AlignmentResult result;
  v1::Diagnostics& diagnostics = *result.mutable_diagnostics();
  diagnostics.set_level(v1::DIAGNOSTIC_LEVEL_WARN);
  diagnostics.set_message("late");
  v1::DiagnosticEntry* entry = diagnostics.add_entries();
  entry->set_key("is_activated");
  entry->set_bool_value(true);
  entry = diagnostics.add_entries();
  entry->set_key("iteration_num");
  entry->set_int_value(4);
  entry = diagnostics.add_entries();
  entry->set_key("execution_time");
  entry->set_double_value(1.5);
  entry = diagnostics.add_entries();
  entry->set_key("from_a_newer_server");
  EXPECT_EQ(DiagnosticsJson(result), Json::parse(R"({"level": "WARN", "message": "late", "values": {
      "is_activated": true, "iteration_num": 4, "execution_time": 1.5,
      "from_a_newer_server": null}})"));
  const std::string text = DiagnosticsText(diagnostics);
  EXPECT_THAT(text, HasSubstr("checks    WARN: late\n"));
  EXPECT_THAT(text, HasSubstr("iteration_num            4\n"));
}

TEST(OutputText, PointAndNoGroundScores) {
  v1::AlignmentResult result;
  result.mutable_point_scores()->add_best_score(0.5f);
  result.mutable_point_scores()->add_best_score(0.0f);
  result.mutable_no_ground()->set_points(7);
  result.mutable_no_ground()->mutable_scores()->set_nvtl(2.5);
  EXPECT_EQ(PointScoresJson(result), Json::parse("[0.5, 0.0]"));
  EXPECT_TRUE(AlignedPointsJson(result).is_null());
  PointCloud cloud;
  cloud.PushBack(1.0f, 2.0f, 3.0f);
  cloud.PushBack(-4.0f, 5.5f, 0.0f);
  client::EncodeCloud(cloud, result.mutable_aligned_cloud());
  EXPECT_EQ(AlignedPointsJson(result), Json::parse("[[1.0, 2.0, 3.0], [-4.0, 5.5, 0.0]]"));
  EXPECT_EQ(NoGroundJson(result)["points"], 7);
  EXPECT_EQ(NoGroundJson(result)["scores"]["nvtl"], 2.5);
}

}  // namespace
}  // namespace voxloc::cli
