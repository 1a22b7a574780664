// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "core/engine/align.h"

namespace voxloc {
namespace {

TEST(JudgeTest, ByTable) {
  const struct {
    Termination termination;
    bool reached_limit;
    int oscillations;
    double likelihood;
    Acceptance expected;
  } rows[] = {
      {Termination::kConverged, false, 0, 3.0, Acceptance::kAccepted},
      {Termination::kConverged, false, 0, 2.3, Acceptance::kLowScore},  // over, not at
      {Termination::kConverged, false, 0, 2.31, Acceptance::kAccepted},
      {Termination::kConverged, false, 0, 0.0, Acceptance::kLowScore},
      {Termination::kZeroStep, false, 0, 3.0, Acceptance::kAccepted},
      {Termination::kZeroStep, false, 0, 0.0, Acceptance::kLowScore},
      {Termination::kMaxIterations, true, 0, 3.0, Acceptance::kNotConverged},
      {Termination::kMaxIterations, true, 10, 3.0, Acceptance::kNotConverged},
      {Termination::kMaxIterations, true, 11, 3.0, Acceptance::kAccepted},
      {Termination::kMaxIterations, true, 11, 1.0, Acceptance::kLowScore},
      {Termination::kNotFinite, false, 0, 3.0, Acceptance::kNotConverged},
      {Termination::kCancelled, false, 0, 3.0, Acceptance::kNotConverged},
      {Termination::kDeadline, false, 20, 3.0, Acceptance::kNotConverged},
  };
  for (const auto& row : rows) {
    AlignResult result;
    result.termination = row.termination;
    result.reached_iteration_limit = row.reached_limit;
    result.oscillations = row.oscillations;
    result.after.nearest_voxel_likelihood = row.likelihood;
    result.after.transform_probability = 100.0;
    EXPECT_EQ(Judge(result, AutowareProfile()), row.expected)
        << ToString(row.termination) << " " << row.oscillations << " " << row.likelihood;
  }
}

TEST(JudgeTest, TheProfileSaysWhichScoreDecides) {
  Profile profile = AutowareProfile();
  profile.acceptance_score = ScoreKind::kTransformProbability;
  profile.acceptance_threshold = 3.0;
  AlignResult result;
  result.after.transform_probability = 3.1;
  result.after.nearest_voxel_likelihood = 0.0;
  EXPECT_EQ(Judge(result, profile), Acceptance::kAccepted);
  result.after.transform_probability = 2.9;
  result.after.nearest_voxel_likelihood = 9.0;
  EXPECT_EQ(Judge(result, profile), Acceptance::kLowScore);
}

TEST(JudgeTest, AScoreThatIsNoNumberIsNotAccepted) {
  AlignResult result;
  result.after.nearest_voxel_likelihood = std::nan("");
  EXPECT_EQ(Judge(result, AutowareProfile()), Acceptance::kLowScore);
}

TEST(JudgeTest, EveryTerminationHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Termination termination :
       {Termination::kConverged, Termination::kMaxIterations, Termination::kZeroStep,
        Termination::kNotFinite, Termination::kCancelled, Termination::kDeadline}) {
    names.insert(std::string(ToString(termination)));
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(JudgeTest, TheMatchedRatioOfNoPointsIsZero) {
  PoseScore score;
  EXPECT_EQ(score.matched_ratio(), 0.0);
  score.points = 8;
  score.matched_points = 6;
  EXPECT_DOUBLE_EQ(score.matched_ratio(), 0.75);
}

}  // namespace
}  // namespace voxloc
