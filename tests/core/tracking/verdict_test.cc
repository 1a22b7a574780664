// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/verdict.h"

#include <gtest/gtest.h>

namespace voxloc {
namespace {

// Every reason to doubt a result at once; then one after another goes, in the order in which
// AlignmentStatus lists them.
TEST(Verdict, GivesTheFirstReasonToDoubtAResult) {
  AlignResult result;
  result.after.points = 100;
  result.after.matched_points = 50;
  result.after.nearest_voxel_likelihood = 1.0;
  result.reached_iteration_limit = true;
  result.termination = Termination::kDeadline;
  ScanEstimate estimate;
  estimate.confidence.emplace();
  estimate.confidence->value = 0.2;
  estimate.degeneracy.emplace();
  estimate.degeneracy->axes[1] = AxisObservation::kUnobserved;
  estimate.rival = RivalPose{Pose{{2.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()}, 2.9};
  AcceptanceLimits limits;
  limits.min_matched_ratio = 0.6;
  limits.min_confidence = 0.5;
  GateOptions gate;
  const Profile profile;
  const auto judge = [&] { return JudgeResult(result, &estimate, profile, gate, limits); };

  EXPECT_EQ(judge().status, AlignmentStatus::kDeadline);
  result.termination = Termination::kMaxIterations;
  EXPECT_EQ(judge().status, AlignmentStatus::kNotConverged);
  result.oscillations = 4;
  gate.max_oscillations = 3;
  EXPECT_EQ(judge().status, AlignmentStatus::kLowScore);
  result.after.nearest_voxel_likelihood = 3.0;
  EXPECT_EQ(judge().status, AlignmentStatus::kLowOverlap);
  EXPECT_FALSE(judge().accepted);
  result.after.matched_points = 60;
  EXPECT_EQ(judge().status, AlignmentStatus::kLowConfidence);
  EXPECT_FALSE(judge().accepted);
  estimate.confidence->value = 0.5;
  EXPECT_EQ(judge().status, AlignmentStatus::kAmbiguous);
  EXPECT_TRUE(judge().accepted);
  EXPECT_EQ(judge().detail, "a pose 2 m away has nvtl 2.9");
  estimate.rival.reset();
  EXPECT_EQ(judge().status, AlignmentStatus::kDegenerate);
  EXPECT_TRUE(judge().accepted);
  EXPECT_EQ(judge().detail, "not observed: y");
  estimate.degeneracy->axes[1] = AxisObservation::kWeak;
  EXPECT_EQ(judge().status, AlignmentStatus::kOk);
  estimate.degeneracy.reset();
  EXPECT_EQ(judge().status, AlignmentStatus::kOk);
  estimate.confidence.reset();
  EXPECT_EQ(judge().status, AlignmentStatus::kLowConfidence) << "it is not known";
  result.after.matched_points = 0;
  EXPECT_EQ(judge().status, AlignmentStatus::kOutOfMap);
}

// A result that the reference accepts, and that every rule accepts as it is.
class StrictVerdict : public ::testing::Test {
 protected:
  StrictVerdict() {
    result_.after.points = 100;
    result_.after.matched_points = 90;
    result_.after.nearest_voxel_likelihood = 3.0;
    result_.map_T_base.translation = {10.0, 0.0, 0.0};
    estimate_.confidence.emplace();
    estimate_.confidence->value = 0.9;
    profile_.acceptance_rule = AcceptanceRule::kStrict;
    limits_.min_confidence = kStrictMinConfidence;
    known_.map_T_base_guess = result_.map_T_base;
  }

  // Along x.
  void SetDegenerate() {
    Matrix6 information = Matrix6::Identity();
    information(0, 0) = 0.0;
    estimate_.degeneracy = AnalyzeDegeneracy(information, 1.0, {1e-2, 1e-3});
    ASSERT_TRUE(estimate_.degeneracy->degenerate());
  }
  void AddPrior(PriorSource source, double x, double sigma_m) {
    PriorPose prior;
    prior.source = source;
    prior.map_T_base.translation = {x, 0.0, 0.0};
    prior.covariance = sigma_m * sigma_m * Matrix6::Identity();
    known_.priors.push_back(prior);
  }
  Verdict Judged() const {
    return JudgeResult(result_, &estimate_, profile_, GateOptions(), limits_, known_);
  }

  AlignResult result_;
  ScanEstimate estimate_;
  Profile profile_;
  AcceptanceLimits limits_;
  PriorKnowledge known_;
};

TEST_F(StrictVerdict, AcceptsWhatNothingSpeaksAgainst) {
  EXPECT_EQ(Judged().status, AlignmentStatus::kOk);
  EXPECT_TRUE(Judged().accepted);
}

TEST_F(StrictVerdict, WantsAConfidenceThatIsKnown) {
  estimate_.confidence->value = 0.099;
  EXPECT_EQ(Judged().status, AlignmentStatus::kLowConfidence);
  EXPECT_FALSE(Judged().accepted);
  estimate_.confidence->value = 0.1;
  EXPECT_TRUE(Judged().accepted);
  estimate_.confidence.reset();
  EXPECT_EQ(Judged().status, AlignmentStatus::kLowConfidence);
  EXPECT_EQ(JudgeResult(result_, nullptr, profile_, GateOptions(), limits_, known_).detail,
            "the confidence is not known; it must be at least 0.1");
}

TEST_F(StrictVerdict, WantsMoreConfidenceFarFromTheGuess) {
  estimate_.confidence->value = 0.49;
  known_.map_T_base_guess->translation.x() = 13.1;
  EXPECT_EQ(Judged().status, AlignmentStatus::kLowConfidence);
  EXPECT_EQ(Judged().detail,
            "the confidence 0.49 is below 0.5, required because the result is 3.1 m from the "
            "guess");
  known_.map_T_base_guess->translation.x() = 12.9;
  EXPECT_TRUE(Judged().accepted);
  // A search begins anywhere.
  known_.map_T_base_guess.reset();
  EXPECT_TRUE(Judged().accepted);
}

TEST_F(StrictVerdict, AcceptsNoAmbiguousResult) {
  estimate_.rival = RivalPose{Pose{{12.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()}, 2.9};
  EXPECT_EQ(Judged().status, AlignmentStatus::kAmbiguous);
  EXPECT_FALSE(Judged().accepted);
}

TEST_F(StrictVerdict, AcceptsADegenerateResultOnlyWhereAPriorSettlesIt) {
  ASSERT_NO_FATAL_FAILURE(SetDegenerate());
  EXPECT_EQ(Judged().status, AlignmentStatus::kDegenerate);
  EXPECT_FALSE(Judged().accepted);
  EXPECT_EQ(Judged().detail,
            "not observed: x; neither a guess with a covariance nor odometry says where the "
            "vehicle is along it");

  AddPrior(PriorSource::kGuess, 10.5, 0.3);
  EXPECT_EQ(Judged().status, AlignmentStatus::kDegenerate);
  EXPECT_FALSE(Judged().accepted);
  EXPECT_EQ(Judged().detail,
            "not observed: x; the guess and its covariance leave 1.1 m, allowed are 1");

  AddPrior(PriorSource::kOdometry, 10.25, 0.125);
  EXPECT_TRUE(Judged().accepted);
  EXPECT_EQ(Judged().detail,
            "not observed: x; known within 0.5 m from odometry since the last pose that was "
            "observed");
  ASSERT_TRUE(Judged().settled_by.has_value());
  EXPECT_EQ(Judged().settled_by->source, PriorSource::kOdometry);
  EXPECT_EQ(Judged().settled_by->within_m, 0.5);
}

TEST_F(StrictVerdict, AcceptsADegenerateResultHoweverUnsureTheFilterIs) {
  ASSERT_NO_FATAL_FAILURE(SetDegenerate());
  AddPrior(PriorSource::kGuess, 10.25, 0.125);
  AddPrior(PriorSource::kFilter, 10.5, 5.0);
  EXPECT_TRUE(Judged().accepted);
  ASSERT_TRUE(Judged().settled_by.has_value());
  EXPECT_EQ(Judged().settled_by->source, PriorSource::kFilter);
  EXPECT_EQ(Judged().settled_by->within_m, 10.5);
}

TEST_F(StrictVerdict, LeavesTheReferencesRuleAsItIs) {
  profile_.acceptance_rule = AcceptanceRule::kReference;
  limits_ = AcceptanceLimits();
  estimate_.confidence->value = 0.01;
  known_.map_T_base_guess->translation.x() = 60.0;
  EXPECT_EQ(Judged().status, AlignmentStatus::kOk);
  ASSERT_NO_FATAL_FAILURE(SetDegenerate());
  EXPECT_EQ(Judged().status, AlignmentStatus::kDegenerate);
  EXPECT_TRUE(Judged().accepted);
  EXPECT_FALSE(Judged().settled_by.has_value());
}

}  // namespace
}  // namespace voxloc
