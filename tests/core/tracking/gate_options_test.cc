// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "core/tracking/scan_gate.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

TEST(GateOptionsTest, TheDefaultsAreTheReferences) {
  const GateOptions options;
  EXPECT_EQ(options.timeout_s, 1.0);
  EXPECT_EQ(options.required_distance_m, 10.0);
  EXPECT_EQ(options.initial_to_result_distance_tolerance_m, 3.0);
  EXPECT_EQ(options.max_execution_time_s, 0.1);
  EXPECT_EQ(options.max_skipped_scans, 5);
  EXPECT_EQ(options.max_oscillations, 10);
  EXPECT_EQ(AutowareProfile().acceptance_score, ScoreKind::kNearestVoxelLikelihood);
  EXPECT_EQ(AutowareProfile().acceptance_threshold, 2.3);
  EXPECT_TRUE(ValidateGateOptions(options).ok());
}

TEST(GateOptionsTest, ValuesOutOfRangeAreNamed) {
  const struct {
    std::function<void(GateOptions&)> spoil;
    const char* text;
  } rows[] = {
      {[](GateOptions& o) { o.timeout_s = -1.0; },
       "timeout_s must be finite and at least 0 (got -1)"},
      {[](GateOptions& o) { o.required_distance_m = -0.5; },
       "required_distance_m must be finite and at least 0 (got -0.5)"},
      {[](GateOptions& o) {
         o.initial_to_result_distance_tolerance_m = std::numeric_limits<double>::quiet_NaN();
       },
       "initial_to_result_distance_tolerance_m must be finite and at least 0 (got nan)"},
      {[](GateOptions& o) { o.max_execution_time_s = std::numeric_limits<double>::infinity(); },
       "max_execution_time_s must be finite and at least 0 (got inf)"},
      {[](GateOptions& o) { o.max_skipped_scans = 0; },
       "max_skipped_scans must be at least 1 (got 0)"},
      {[](GateOptions& o) { o.max_oscillations = -1; },
       "max_oscillations must be finite and at least 0 (got -1)"},
  };
  for (const auto& row : rows) {
    GateOptions options;
    row.spoil(options);
    const absl::Status status = ValidateGateOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.text));
  }
}

}  // namespace
}  // namespace voxloc
