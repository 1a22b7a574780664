// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/scan_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace voxloc {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// The 19 keys of Autoware's scan_matching_status, in its order.
const std::vector<std::string>& AllKeys() {
  static const auto& keys = *new std::vector<std::string>{
      "topic_time_stamp",
      "sensor_points_size",
      "sensor_points_delay_time_sec",
      "is_succeed_transform_sensor_points",
      "sensor_points_max_distance",
      "is_activated",
      "is_succeed_interpolate_initial_pose",
      "is_set_map_points",
      "iteration_num",
      "local_optimal_solution_oscillation_num",
      "transform_probability",
      "nearest_voxel_transformation_likelihood",
      "transform_probability_diff",
      "transform_probability_before",
      "nearest_voxel_transformation_likelihood_diff",
      "nearest_voxel_transformation_likelihood_before",
      "distance_initial_to_result",
      "execution_time",
      "skipping_publish_num",
  };
  return keys;
}

std::vector<std::string> KeysOf(const Diagnostics& diagnostics) {
  std::vector<std::string> keys;
  for (const DiagnosticEntry& entry : diagnostics.entries()) keys.push_back(entry.key);
  return keys;
}

template <typename T>
T Value(const Diagnostics& diagnostics, const std::string& key) {
  for (const DiagnosticEntry& entry : diagnostics.entries()) {
    if (entry.key != key) continue;
    EXPECT_TRUE(std::holds_alternative<T>(entry.value)) << key;
    return std::holds_alternative<T>(entry.value) ? std::get<T>(entry.value) : T();
  }
  ADD_FAILURE() << "no key " << key;
  return T();
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

TEST(ScanGateTest, AScanWithNothingWrongHasAllNineteenKeysInOrder) {
  const Outcome outcome = Gated(Case());
  EXPECT_EQ(outcome.rejection, Rejection::kNone);
  EXPECT_TRUE(outcome.accepted);
  EXPECT_EQ(outcome.diagnostics.level(), DiagnosticLevel::kOk);
  EXPECT_EQ(outcome.diagnostics.message(), "OK");
  EXPECT_THAT(KeysOf(outcome.diagnostics), ElementsAreArray(AllKeys()));
}

TEST(ScanGateTest, TheKeysHaveTheReferencesTypesAndUnits) {
  const Diagnostics record = Gated(Case()).diagnostics;
  EXPECT_EQ(Value<int64_t>(record, "topic_time_stamp"), 1'790'000'000'123'456'789);  // ns
  EXPECT_EQ(Value<int64_t>(record, "sensor_points_size"), 1500);
  EXPECT_EQ(Value<double>(record, "sensor_points_delay_time_sec"), 0.125);
  EXPECT_TRUE(Value<bool>(record, "is_succeed_transform_sensor_points"));
  EXPECT_EQ(Value<double>(record, "sensor_points_max_distance"), 60.0);
  EXPECT_TRUE(Value<bool>(record, "is_activated"));
  EXPECT_TRUE(Value<bool>(record, "is_succeed_interpolate_initial_pose"));
  EXPECT_TRUE(Value<bool>(record, "is_set_map_points"));
  EXPECT_EQ(Value<int64_t>(record, "iteration_num"), 4);
  EXPECT_EQ(Value<int64_t>(record, "local_optimal_solution_oscillation_num"), 1);
  EXPECT_EQ(Value<double>(record, "transform_probability"), 5.75);
  EXPECT_EQ(Value<double>(record, "nearest_voxel_transformation_likelihood"), 3.0);
  EXPECT_EQ(Value<double>(record, "transform_probability_diff"), 2.5);
  EXPECT_EQ(Value<double>(record, "transform_probability_before"), 3.25);
  EXPECT_EQ(Value<double>(record, "nearest_voxel_transformation_likelihood_diff"), 0.5);
  EXPECT_EQ(Value<double>(record, "nearest_voxel_transformation_likelihood_before"), 2.5);
  EXPECT_EQ(Value<double>(record, "distance_initial_to_result"), 0.5);
  EXPECT_EQ(Value<double>(record, "execution_time"), 20.0);  // milliseconds
  EXPECT_EQ(Value<int64_t>(record, "skipping_publish_num"), 0);
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
  std::vector<std::string> keys(AllKeys().begin(),
                                AllKeys().begin() + static_cast<std::ptrdiff_t>(row.keys));
  keys.emplace_back("skipping_publish_num");
  EXPECT_THAT(KeysOf(outcome.diagnostics), ElementsAreArray(keys));
  EXPECT_EQ(Value<int64_t>(outcome.diagnostics, "skipping_publish_num"),
            row.accepted || !scan.facts.active ? 0 : 1);
}

constexpr DiagnosticLevel kOk = DiagnosticLevel::kOk;
constexpr DiagnosticLevel kWarn = DiagnosticLevel::kWarn;
constexpr DiagnosticLevel kError = DiagnosticLevel::kError;

TEST(ScanGateTest, EveryCheckBeforeTheAlignment) {
  const Row rows[] = {
      {"no points", [](Case& c) { c.facts.points = 0; }, Rejection::kNoPoints, false, kWarn,
       "the scan has no points", 2},
      {"malformed",
       [](Case& c) { c.facts.malformed = absl::InvalidArgumentError("guess_map_t_base is odd"); },
       Rejection::kMalformed, false, kError, "the scan is malformed: guess_map_t_base is odd", 2},
      {"delay at the bound", [](Case& c) { c.facts.delay_s = 1.0; }, Rejection::kNone, true, kOk,
       "OK", 18},
      {"delay over the bound", [](Case& c) { c.facts.delay_s = 1.5; }, Rejection::kNone, true,
       kWarn, "the scan should be at most 1 s old (got 1.5 s)", 18},
      {"no transform", [](Case& c) { c.facts.transform = absl::NotFoundError("no tf"); },
       Rejection::kNoTransform, false, kError, "no tf", 4},
      {"reach at the bound", [](Case& c) { c.facts.max_distance_m = 10.0; }, Rejection::kNone, true,
       kOk, "OK", 18},
      {"reach under the bound", [](Case& c) { c.facts.max_distance_m = 9.5; }, Rejection::kTooNear,
       false, kWarn, "9.5 m away; required are 10 m", 5},
      {"inactive", [](Case& c) { c.facts.active = false; }, Rejection::kInactive, false, kWarn,
       "not active", 6},
      {"no guess", [](Case& c) { c.facts.guess = absl::FailedPreconditionError("1 poses"); },
       Rejection::kNoGuess, false, kWarn, "1 poses", 7},
      {"out of map range", [](Case& c) { c.facts.out_of_map_range = true; }, Rejection::kNone, true,
       kWarn, "beyond the map", 18},
      {"no map", [](Case& c) { c.facts.has_map = false; }, Rejection::kNoMap, false, kWarn,
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
      {"iteration limit", [&](Case& c) { limited(c, 0); }, none, false, kWarn,
       "at its limit, after 30 iterations", 18},
      {"iteration limit, ten oscillations", [&](Case& c) { limited(c, 10); }, none, false, kWarn,
       "at its limit", 18},
      {"iteration limit, rescued", [&](Case& c) { limited(c, 11); }, none, true, kWarn,
       "should oscillate at most 10 times (got 11)", 18},
      {"iteration limit, rescued, low score",
       [&](Case& c) {
         limited(c, 11);
         c.result.after.nearest_voxel_likelihood = 2.0;
       },
       none, false, kWarn, "nearest_voxel_transformation_likelihood must be over 2.3 (got 2)", 18},
      {"oscillation alone", [](Case& c) { c.result.oscillations = 11; }, none, true, kWarn,
       "should oscillate at most 10 times (got 11)", 18},
      {"oscillation at the bound", [](Case& c) { c.result.oscillations = 10; }, none, true, kOk,
       "OK", 18},
      {"another bound on oscillations",
       [&](Case& c) {
         limited(c, 3);
         c.options.max_oscillations = 2;
       },
       none, true, kWarn, "at most 2", 18},
      {"score at the threshold", [](Case& c) { c.result.after.nearest_voxel_likelihood = 2.3; },
       none, false, kWarn, "must be over 2.3 (got ", 18},
      {"score over the threshold", [](Case& c) { c.result.after.nearest_voxel_likelihood = 2.31; },
       none, true, kOk, "OK", 18},
      {"score that is no number",
       [](Case& c) {
         c.result.after.nearest_voxel_likelihood = std::numeric_limits<double>::quiet_NaN();
       },
       none, false, kWarn, "must be over 2.3 (got ", 18},
      {"judged by TP, low",
       [](Case& c) {
         c.profile.acceptance_score = ScoreKind::kTransformProbability;
         c.profile.acceptance_threshold = 5.75;
       },
       none, false, kWarn, "transform_probability must be over 5.75 (got 5.75)", 18},
      {"judged by TP, high, whatever the NVTL",
       [](Case& c) {
         c.profile.acceptance_score = ScoreKind::kTransformProbability;
         c.profile.acceptance_threshold = 3.0;
         c.result.after.nearest_voxel_likelihood = 0.0;
       },
       none, true, kOk, "OK", 18},
      {"unknown type of score",
       [](Case& c) { c.profile.acceptance_score = static_cast<ScoreKind>(7); }, none, false, kError,
       "unknown type 7", 12},
      {"distance at the tolerance", [](Case& c) { c.guess.translation.x() = 103.0; }, none, true,
       kOk, "OK", 18},
      {"distance over the tolerance",
       [](Case& c) {
         c.guess.translation = {102.0, 202.0, 6.5};
       },
       none, true, kWarn, "the result should be at most 3 m from the guess", 18},
      {"time at the bound", [](Case& c) { c.execution_time_s = 0.1; }, none, true, kOk, "OK", 18},
      {"time over the bound", [](Case& c) { c.execution_time_s = 0.125; }, none, true, kWarn,
       "should take at most 100 ms (got 125 ms)", 18},
      {"stopped by its deadline", [](Case& c) { c.result.termination = Termination::kDeadline; },
       none, false, kWarn, "ended early: deadline", 18},
      {"overflowed", [](Case& c) { c.result.termination = Termination::kNotFinite; }, none, false,
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
  EXPECT_EQ(Gated(scan).rejection, Rejection::kMalformed);
  scan.facts.malformed = absl::OkStatus();
  EXPECT_EQ(Gated(scan).rejection, Rejection::kNoPoints);
  scan.facts.points = 1;
  EXPECT_EQ(Gated(scan).rejection, Rejection::kNoTransform);
  scan.facts.transform = absl::OkStatus();
  EXPECT_EQ(Gated(scan).rejection, Rejection::kTooNear);
  scan.facts.max_distance_m = 20.0;
  EXPECT_EQ(Gated(scan).rejection, Rejection::kInactive);
  scan.facts.active = true;
  EXPECT_EQ(Gated(scan).rejection, Rejection::kNoGuess);
  scan.facts.guess = absl::OkStatus();
  EXPECT_EQ(Gated(scan).rejection, Rejection::kNoMap);
  scan.facts.has_map = true;
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
  gate.Doubt("the confidence is 0.1");
  const Diagnostics record = gate.Finish(skipped);
  EXPECT_EQ(record.message(), "the confidence is 0.1");
  EXPECT_EQ(record.level(), DiagnosticLevel::kWarn);
  EXPECT_EQ(Value<int64_t>(record, "skipping_publish_num"), 1);
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
  } rows[] = {
      {good, 0, false},
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
      {empty_and_inactive, 0, false},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    SCOPED_TRACE(i);
    const Diagnostics record = Gated(rows[i].scan, skipped).diagnostics;
    EXPECT_EQ(Value<int64_t>(record, "skipping_publish_num"), rows[i].count);
    EXPECT_EQ(skipped.count(), rows[i].count);
    const bool warns = record.message().find("no result of the last") != std::string::npos;
    EXPECT_EQ(warns, rows[i].warns) << record.message();
  }
}

}  // namespace
}  // namespace voxloc
