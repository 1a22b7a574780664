// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/scan_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/core/tracking/refused_options.h"

namespace voxloc {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// What Autoware's scan_matching_status says of a scan to which nothing is wrong: its 19 keys, in
// its order, with its types and units.
const std::vector<DiagnosticEntry>& GoodEntries() {
  static const auto& entries = *new std::vector<DiagnosticEntry>{
      {"topic_time_stamp", int64_t{1'790'000'000'123'456'789}},  // ns
      {"sensor_points_size", int64_t{1500}},
      {"sensor_points_delay_time_sec", 0.125},
      {"is_succeed_transform_sensor_points", true},
      {"sensor_points_max_distance", 60.0},
      {"is_activated", true},
      {"is_succeed_interpolate_initial_pose", true},
      {"is_set_map_points", true},
      {"iteration_num", int64_t{4}},
      {"local_optimal_solution_oscillation_num", int64_t{1}},
      {"transform_probability", 5.75},
      {"nearest_voxel_transformation_likelihood", 3.0},
      {"transform_probability_diff", 2.5},
      {"transform_probability_before", 3.25},
      {"nearest_voxel_transformation_likelihood_diff", 0.5},
      {"nearest_voxel_transformation_likelihood_before", 2.5},
      {"distance_initial_to_result", 0.5},
      {"execution_time", 20.0},  // ms
      {"skipping_publish_num", int64_t{0}},
  };
  return entries;
}

std::vector<std::string> KeysOf(const Diagnostics& diagnostics) {
  std::vector<std::string> keys;
  for (const DiagnosticEntry& entry : diagnostics.entries()) keys.push_back(entry.key);
  return keys;
}

int64_t SkippedIn(const Diagnostics& diagnostics) {
  const DiagnosticEntry& last = diagnostics.entries().back();
  EXPECT_EQ(last.key, "skipping_publish_num");
  return std::get<int64_t>(last.value);
}

// A scan to which nothing is wrong: what a test changes is the one thing it is about.
struct Case {
  GateOptions options;
  ScanFacts facts;
  Profile profile = AutowareProfile();
  AlignResult result;
  Pose guess;
  double execution_time_s = 0.02;

  Case() {
    facts.stamp_ns = 1'790'000'000'123'456'789;
    facts.points = 1500;
    facts.delay_s = 0.125;
    facts.max_distance_m = 60.0;
    result.iterations = 4;
    result.evaluations = 5;
    result.oscillations = 1;
    result.map_T_base.translation = {100.0, 200.0, 5.0};
    guess.translation = {100.5, 200.0, 5.0};
    result.before.transform_probability = 3.25;
    result.before.nearest_voxel_likelihood = 2.5;
    result.after.transform_probability = 5.75;
    result.after.nearest_voxel_likelihood = 3.0;
  }
};

struct Outcome {
  Rejection rejection = Rejection::kNone;
  bool accepted = false;
  Diagnostics diagnostics;
};

Outcome Gated(const Case& scan, SkippedScans& skipped) {
  ScanGate gate(scan.options);
  Outcome outcome;
  outcome.rejection = gate.BeforeAlign(scan.facts);
  if (outcome.rejection == Rejection::kNone) {
    outcome.accepted =
        gate.AfterAlign(scan.result, scan.profile, scan.guess, scan.execution_time_s);
  }
  outcome.diagnostics = gate.Finish(skipped);
  return outcome;
}

Outcome Gated(const Case& scan) {
  SkippedScans skipped;
  return Gated(scan, skipped);
}

TEST(ScanGateTest, AScanWithNothingWrongHasAllNineteenEntriesInOrder) {
  const Outcome outcome = Gated(Case());
  EXPECT_EQ(outcome.rejection, Rejection::kNone);
  EXPECT_TRUE(outcome.accepted);
  EXPECT_EQ(outcome.diagnostics.level(), DiagnosticLevel::kOk);
  EXPECT_EQ(outcome.diagnostics.message(), "OK");
  ASSERT_EQ(outcome.diagnostics.entries().size(), GoodEntries().size());
  for (size_t i = 0; i < GoodEntries().size(); ++i) {
    EXPECT_EQ(outcome.diagnostics.entries()[i].key, GoodEntries()[i].key);
    EXPECT_EQ(outcome.diagnostics.entries()[i].value, GoodEntries()[i].value)
        << GoodEntries()[i].key;
  }
}

// A row of the reference's table of checks: what is wrong, how bad it is, how far the scan comes.
struct Row {
  const char* name;
  std::function<void(Case&)> spoil;
  Rejection rejection;
  bool accepted;
  DiagnosticLevel level;
  const char* text;  // part of the message
  size_t keys;       // reached, before skipping_publish_num
};

void Check(const Row& row) {
  SCOPED_TRACE(row.name);
  Case scan;
  row.spoil(scan);
  const Outcome outcome = Gated(scan);
  EXPECT_EQ(outcome.rejection, row.rejection);
  EXPECT_EQ(outcome.accepted, row.accepted);
  EXPECT_EQ(outcome.diagnostics.level(), row.level) << outcome.diagnostics.message();
  EXPECT_THAT(outcome.diagnostics.message(), HasSubstr(row.text));
  std::vector<std::string> keys;
  for (size_t i = 0; i < row.keys; ++i) keys.push_back(GoodEntries()[i].key);
  keys.emplace_back("skipping_publish_num");
  EXPECT_THAT(KeysOf(outcome.diagnostics), ElementsAreArray(keys));
  EXPECT_EQ(SkippedIn(outcome.diagnostics), row.accepted || !scan.facts.active ? 0 : 1);
}

constexpr DiagnosticLevel kOk = DiagnosticLevel::kOk;
constexpr DiagnosticLevel kWarn = DiagnosticLevel::kWarn;
constexpr DiagnosticLevel kError = DiagnosticLevel::kError;

TEST(ScanGateTest, EveryCheckBeforeTheAlignment) {
  const Row rows[] = {
      {"no points", [](auto& c) { c.facts.points = 0; }, Rejection::kNoPoints, false, kWarn,
       "the scan has no points", 2},
      {"malformed",
       [](auto& c) { c.facts.malformed = absl::InvalidArgumentError("guess_map_t_base is odd"); },
       Rejection::kMalformed, false, kError, "the scan is malformed: guess_map_t_base is odd", 2},
      {"delay at the bound", [](auto& c) { c.facts.delay_s = 1.0; }, Rejection::kNone, true, kOk,
       "OK", 18},
      {"delay over the bound", [](auto& c) { c.facts.delay_s = 1.5; }, Rejection::kNone, true,
       kWarn, "the scan should be at most 1 s old (got 1.5 s)", 18},
      {"no transform", [](auto& c) { c.facts.transform = absl::NotFoundError("no tf"); },
       Rejection::kNoTransform, false, kError, "no tf", 4},
      {"reach at the bound", [](auto& c) { c.facts.max_distance_m = 10.0; }, Rejection::kNone, true,
       kOk, "OK", 18},
      {"reach under the bound", [](auto& c) { c.facts.max_distance_m = 9.5; }, Rejection::kTooNear,
       false, kWarn, "9.5 m away; required are 10 m", 5},
      {"inactive", [](auto& c) { c.facts.active = false; }, Rejection::kInactive, false, kWarn,
       "not active", 6},
      {"no guess", [](auto& c) { c.facts.guess = absl::FailedPreconditionError("1 poses"); },
       Rejection::kNoGuess, false, kWarn, "1 poses", 7},
      {"out of map range", [](auto& c) { c.facts.out_of_map_range = true; }, Rejection::kNone, true,
       kWarn, "beyond the map", 18},
      {"no map", [](auto& c) { c.facts.has_map = false; }, Rejection::kNoMap, false, kWarn,
       "no map", 8},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ScanGateTest, EveryCheckAfterTheAlignment) {
  const auto limited = [](Case& c, int oscillations) {
    c.result.termination = Termination::kMaxIterations;
    c.result.reached_iteration_limit = true;
    c.result.iterations = 30;
    c.result.evaluations = 31;
    c.result.oscillations = oscillations;
  };
  const Rejection none = Rejection::kNone;
  const Row rows[] = {
      {"iteration limit", [&](auto& c) { limited(c, 0); }, none, false, kWarn,
       "at its limit, after 30 iterations", 18},
      {"iteration limit, ten oscillations", [&](auto& c) { limited(c, 10); }, none, false, kWarn,
       "at its limit", 18},
      {"iteration limit, rescued", [&](auto& c) { limited(c, 11); }, none, true, kWarn,
       "should oscillate at most 10 times (got 11)", 18},
      {"iteration limit, rescued, low score",
       [&](auto& c) {
         limited(c, 11);
         c.result.after.nearest_voxel_likelihood = 2.0;
       },
       none, false, kWarn, "nearest_voxel_transformation_likelihood must be over 2.3 (got 2)", 18},
      {"oscillation alone", [](auto& c) { c.result.oscillations = 11; }, none, true, kWarn,
       "should oscillate at most 10 times (got 11)", 18},
      {"oscillation at the bound", [](auto& c) { c.result.oscillations = 10; }, none, true, kOk,
       "OK", 18},
      {"another bound on oscillations",
       [&](auto& c) {
         limited(c, 3);
         c.options.max_oscillations = 2;
       },
       none, true, kWarn, "at most 2", 18},
      {"score at the threshold", [](auto& c) { c.result.after.nearest_voxel_likelihood = 2.3; },
       none, false, kWarn, "must be over 2.3 (got ", 18},
      {"score over the threshold", [](auto& c) { c.result.after.nearest_voxel_likelihood = 2.31; },
       none, true, kOk, "OK", 18},
      {"score that is no number",
       [](auto& c) {
         c.result.after.nearest_voxel_likelihood = std::numeric_limits<double>::quiet_NaN();
       },
       none, false, kWarn, "must be over 2.3 (got ", 18},
      {"judged by TP, low",
       [](auto& c) {
         c.profile.acceptance_score = ScoreKind::kTransformProbability;
         c.profile.acceptance_threshold = 5.75;
       },
       none, false, kWarn, "transform_probability must be over 5.75 (got 5.75)", 18},
      {"judged by TP, high, whatever the NVTL",
       [](auto& c) {
         c.profile.acceptance_score = ScoreKind::kTransformProbability;
         c.profile.acceptance_threshold = 3.0;
         c.result.after.nearest_voxel_likelihood = 0.0;
       },
       none, true, kOk, "OK", 18},
      {"unknown type of score",
       [](auto& c) { c.profile.acceptance_score = static_cast<ScoreKind>(7); }, none, false, kError,
       "unknown type 7", 12},
      {"distance at the tolerance", [](auto& c) { c.guess.translation.x() = 103.0; }, none, true,
       kOk, "OK", 18},
      {"distance over the tolerance",
       [](auto& c) {
         c.guess.translation = {102.0, 202.0, 6.5};
       },
       none, true, kWarn, "the result should be at most 3 m from the guess", 18},
      {"time at the bound", [](auto& c) { c.execution_time_s = 0.1; }, none, true, kOk, "OK", 18},
      {"time over the bound", [](auto& c) { c.execution_time_s = 0.125; }, none, true, kWarn,
       "should take at most 100 ms (got 125 ms)", 18},
      {"stopped by its deadline", [](auto& c) { c.result.termination = Termination::kDeadline; },
       none, false, kWarn, "ended early: deadline", 18},
      {"overflowed", [](auto& c) { c.result.termination = Termination::kNotFinite; }, none, false,
       kWarn, "ended early: not finite", 18},
  };
  for (const Row& row : rows) Check(row);
}

TEST(ScanGateTest, WithoutAnEvaluationOfEachStepScoresAreNotCompared) {
  Case scan;
  scan.result.evaluations = scan.result.iterations;
  const Outcome outcome = Gated(scan);
  EXPECT_TRUE(outcome.accepted);
  EXPECT_EQ(outcome.diagnostics.level(), DiagnosticLevel::kWarn);
  EXPECT_THAT(outcome.diagnostics.message(), HasSubstr("4 evaluations"));
  const std::vector<std::string> keys = KeysOf(outcome.diagnostics);
  ASSERT_EQ(keys.size(), 15u);
  EXPECT_EQ(keys[11], "nearest_voxel_transformation_likelihood");
  EXPECT_EQ(keys[12], "distance_initial_to_result");
}

TEST(ScanGateTest, TheFirstCheckThatFailsRejects) {
  // Each scan is spoilt by one thing less than the one before, in the order of the checks.
  Case scan;
  scan.facts.malformed = absl::InvalidArgumentError("odd");
  scan.facts.points = 0;
  scan.facts.transform = absl::NotFoundError("no tf");
  scan.facts.max_distance_m = 1.0;
  scan.facts.active = false;
  scan.facts.guess = absl::FailedPreconditionError("none");
  scan.facts.has_map = false;
  const std::pair<Rejection, std::function<void(ScanFacts&)>> rows[] = {
      {Rejection::kMalformed, [](auto& f) { f.malformed = absl::OkStatus(); }},
      {Rejection::kNoPoints, [](auto& f) { f.points = 1; }},
      {Rejection::kNoTransform, [](auto& f) { f.transform = absl::OkStatus(); }},
      {Rejection::kTooNear, [](auto& f) { f.max_distance_m = 20.0; }},
      {Rejection::kInactive, [](auto& f) { f.active = true; }},
      {Rejection::kNoGuess, [](auto& f) { f.guess = absl::OkStatus(); }},
      {Rejection::kNoMap, [](auto& f) { f.has_map = true; }},
  };
  for (const auto& [rejection, repair] : rows) {
    EXPECT_EQ(Gated(scan).rejection, rejection);
    repair(scan.facts);
  }
  EXPECT_EQ(Gated(scan).rejection, Rejection::kNone);
}

TEST(ScanGateTest, AllWarningsOfAScanAreJoinedInOrder) {
  Case scan;
  scan.facts.delay_s = 2.0;
  scan.facts.out_of_map_range = true;
  scan.execution_time_s = 1.0;
  EXPECT_EQ(Gated(scan).diagnostics.message(),
            "the scan should be at most 1 s old (got 2 s); the scan may reach beyond the map; "
            "the scan should take at most 100 ms (got 1000 ms)");
}

TEST(ScanGateTest, ADoubtedResultIsNotAccepted) {
  const Case scan;
  SkippedScans skipped;
  ScanGate gate(scan.options);
  ASSERT_EQ(gate.BeforeAlign(scan.facts), Rejection::kNone);
  ASSERT_TRUE(gate.AfterAlign(scan.result, scan.profile, scan.guess, scan.execution_time_s));
  gate.Reject("the confidence is 0.1");
  const Diagnostics record = gate.Finish(skipped);
  EXPECT_EQ(record.message(), "the confidence is 0.1");
  EXPECT_EQ(record.level(), DiagnosticLevel::kWarn);
  EXPECT_EQ(SkippedIn(record), 1);
}

TEST(ScanGateTest, OptionsOutOfRangeAreNamed) {
  ExpectRefused<GateOptions>(
      ValidateGateOptions,
      {{[](auto& o) { o.timeout_s = -1.0; }, "timeout_s must be finite and at least 0 (got -1)"},
       {[](auto& o) { o.required_distance_m = -0.5; },
        "required_distance_m must be finite and at least 0 (got -0.5)"},
       {[](auto& o) { o.initial_to_result_distance_tolerance_m = std::nan(""); },
        "initial_to_result_distance_tolerance_m must be finite and at least 0 (got nan)"},
       {[](auto& o) { o.max_execution_time_s = HUGE_VAL; },
        "max_execution_time_s must be finite and at least 0 (got inf)"},
       {[](auto& o) { o.max_skipped_scans = 0; }, "max_skipped_scans must be at least 1 (got 0)"},
       {[](auto& o) { o.max_oscillations = -1; }, "max_oscillations must be at least 0 (got -1)"}});
}

TEST(SkippedScansTest, CountsScansInARowWithoutAnAcceptedResult) {
  const Case good;
  Case low;
  low.result.after.nearest_voxel_likelihood = 0.0;
  Case empty;  // rejected before the alignment: counts as well
  empty.facts.points = 0;
  Case inactive;
  inactive.facts.active = false;
  Case empty_and_inactive = empty;
  empty_and_inactive.facts.active = false;

  SkippedScans skipped;
  const struct {
    const Case& scan;
    int64_t count;
    bool warns;  // of the count
  } rows[] = {{good, 0, false},
              {low, 1, false},
              {empty, 2, false},
              {low, 3, false},
              {low, 4, false},
              {empty, 5, true},
              {low, 6, true},
              {good, 0, false},
              {low, 1, false},
              {empty, 2, false},
              {inactive, 0, false},
              {low, 1, false},
              {empty_and_inactive, 0, false}};
  for (size_t i = 0; i < std::size(rows); ++i) {
    SCOPED_TRACE(i);
    const Diagnostics record = Gated(rows[i].scan, skipped).diagnostics;
    EXPECT_EQ(SkippedIn(record), rows[i].count);
    EXPECT_EQ(skipped.count(), rows[i].count);
    const bool warns = record.message().find("no result of the last") != std::string::npos;
    EXPECT_EQ(warns, rows[i].warns) << record.message();
  }
}

}  // namespace
}  // namespace voxloc
