// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/estimate/initial_pose/pose_search.h"
#include "core/geometry/euler.h"
#include "tests/core/tracking/refused_options.h"

namespace voxloc {
namespace {

AlignResult Candidate(double x_m, double yaw_rad, double likelihood) {
  AlignResult result;
  result.map_T_base.translation.x() = x_m;
  result.map_T_base.rotation = RotationFromRosAngles(0.0, 0.0, yaw_rad);
  result.after.nearest_voxel_likelihood = likelihood;
  result.after.points = 100;
  result.after.matched_points = 90;
  return result;
}

std::vector<double> PlacesOf(const RankedHypotheses& ranked) {
  std::vector<double> places;
  for (const PoseHypothesis& hypothesis : ranked.hypotheses) {
    places.push_back(hypothesis.result.map_T_base.translation.x());
  }
  return places;
}

TEST(HypothesesTest, NearCandidatesAreOneAndTheirBestStandsForThem) {
  const std::vector<AlignResult> candidates = {Candidate(0.3, 0.0, 2.0), Candidate(10.0, 0.0, 1.0),
                                               Candidate(0.0, 0.1, 3.0), Candidate(10.4, 0.1, 1.5),
                                               Candidate(-0.3, 0.0, 2.5)};
  const RankedHypotheses ranked = RankHypotheses(candidates, {});
  EXPECT_THAT(PlacesOf(ranked), testing::ElementsAre(0.0, 10.4));
  EXPECT_EQ(ranked.hypotheses[0].support, 3u);
  EXPECT_EQ(ranked.hypotheses[1].support, 2u);
  EXPECT_DOUBLE_EQ(ranked.ambiguity_gap, 0.5);
  EXPECT_FALSE(ranked.ambiguous);
}

TEST(HypothesesTest, PosesAreDistinctWhenEitherDistanceReachesItsSeparation) {
  HypothesisOptions options;
  options.min_separation_m = 1.0;
  options.min_separation_rad = 0.2;
  const struct {
    double x_m;
    double yaw_rad;
    size_t hypotheses;
  } rows[] = {{0.999, 0.199, 1},
              {1.0, 0.0, 2},
              {0.0, 0.201, 2},
              {1.5, 0.3, 2},
              {0.0, 6.2, 1}};  // 6.2 rad is 0.083 the other way round
  for (const auto& row : rows) {
    const std::vector<AlignResult> candidates = {Candidate(0.0, 0.0, 2.0),
                                                 Candidate(row.x_m, row.yaw_rad, 1.0)};
    EXPECT_EQ(RankHypotheses(candidates, options).hypotheses.size(), row.hypotheses)
        << row.x_m << " m, " << row.yaw_rad << " rad";
  }
}

TEST(HypothesesTest, IsAmbiguousWhenTheSecondIsNearlyAsGood) {
  HypothesisOptions options;
  options.ambiguity_gap = 0.1;
  const auto rank = [&](double second) {
    return RankHypotheses(
        std::vector<AlignResult>{Candidate(0.0, 0.0, 4.0), Candidate(9.0, 0.0, second)}, options);
  };
  EXPECT_TRUE(rank(4.0).ambiguous);
  EXPECT_EQ(rank(4.0).ambiguity_gap, 0.0);
  EXPECT_TRUE(rank(3.7).ambiguous);
  EXPECT_FALSE(rank(3.5).ambiguous);
  EXPECT_DOUBLE_EQ(rank(3.0).ambiguity_gap, 0.25);
}

TEST(HypothesesTest, ListsNoMoreThanWantedAndTheGapCountsASecondThatIsNotListed) {
  HypothesisOptions options;
  options.max_hypotheses = 1;
  std::vector<AlignResult> candidates = {Candidate(0.0, 0.0, 4.0), Candidate(9.0, 0.0, 3.9)};
  for (int i = 0; i < 500; ++i) candidates.push_back(Candidate(10.0 * (i + 2), 0.0, 1e-3 * i));
  const RankedHypotheses ranked = RankHypotheses(candidates, options);
  EXPECT_THAT(PlacesOf(ranked), testing::ElementsAre(0.0));
  EXPECT_NEAR(ranked.ambiguity_gap, 0.025, 1e-12);
  EXPECT_TRUE(ranked.ambiguous);
}

TEST(HypothesesTest, OneHasNoRivalAndNoneIsNotAmbiguous) {
  const RankedHypotheses one =
      RankHypotheses(std::vector<AlignResult>{Candidate(0.0, 0.0, 0.1)}, {});
  EXPECT_EQ(one.hypotheses.size(), 1u);
  EXPECT_EQ(one.ambiguity_gap, 1.0);
  EXPECT_FALSE(one.ambiguous);
  const RankedHypotheses none = RankHypotheses({}, {});
  EXPECT_TRUE(none.hypotheses.empty());
  EXPECT_EQ(none.ambiguity_gap, 0.0);
  EXPECT_FALSE(none.ambiguous);
}

TEST(HypothesesTest, LeavesOutWhatFailedOrMatchedNothing) {
  std::vector<AlignResult> candidates(6, Candidate(0.0, 0.0, 9.0));
  candidates[0].status = absl::InvalidArgumentError("no");
  candidates[1].after.matched_points = 0;
  candidates[2].after.nearest_voxel_likelihood = std::nan("");
  candidates[3].map_T_base.translation.y() = std::numeric_limits<double>::infinity();
  candidates[4].map_T_base.rotation.w() = std::nan("");
  candidates[5] = Candidate(5.0, 0.0, 1.0);
  EXPECT_THAT(PlacesOf(RankHypotheses(candidates, {})), testing::ElementsAre(5.0));
  EXPECT_EQ(BestCandidate(candidates), &candidates[5]);
  candidates.pop_back();
  EXPECT_EQ(BestCandidate(candidates), nullptr);
}

TEST(HypothesesTest, OfEqualsTheFirstIsTheBetter) {
  const std::vector<AlignResult> candidates = {Candidate(7.0, 0.0, 2.0), Candidate(3.0, 0.0, 2.0)};
  EXPECT_THAT(PlacesOf(RankHypotheses(candidates, {})), testing::ElementsAre(7.0, 3.0));
  EXPECT_EQ(BestCandidate(candidates), candidates.data());
}

TEST(HypothesesTest, IsReliableWhenTheBestLikelihoodExceedsItsThreshold) {
  PoseSearchJob job;
  job.profile = AutowareProfile();
  job.profile.acceptance_threshold = 1.5;
  const auto reliable = [&job](double likelihood) {
    return IsReliable(RankHypotheses(std::vector<AlignResult>{Candidate(0.0, 0.0, likelihood)}, {}),
                      job);
  };
  EXPECT_TRUE(reliable(1.6));
  EXPECT_FALSE(reliable(1.5));
  // A threshold of the other score says nothing about this one.
  job.profile.acceptance_score = ScoreKind::kTransformProbability;
  EXPECT_TRUE(reliable(2.31));
  EXPECT_FALSE(reliable(2.3));
  job.reliable_likelihood = 4.0;
  EXPECT_TRUE(reliable(4.1));
  EXPECT_FALSE(reliable(4.0));
  job.reliable_likelihood = -1.0;
  EXPECT_FALSE(IsReliable({}, job));
}

TEST(HypothesesTest, RefusesOptionsOutOfRangeByName) {
  ExpectRefused<HypothesisOptions>(
      ValidateHypothesisOptions,
      {{[](auto& o) { o.max_hypotheses = 0; }, "max_hypotheses must be from 1 to 100 (got 0)"},
       {[](auto& o) { o.max_hypotheses = 101; }, "(got 101)"},
       {[](auto& o) { o.min_separation_m = 0.0; }, "min_separation_m"},
       {[](auto& o) { o.min_separation_m = std::nan(""); }, "min_separation_m"},
       {[](auto& o) { o.min_separation_m = HUGE_VAL; }, "min_separation_m"},
       {[](auto& o) { o.min_separation_rad = 0.0; }, "min_separation_rad"},
       {[](auto& o) { o.min_separation_rad = std::nan(""); }, "min_separation_rad"},
       {[](auto& o) { o.ambiguity_gap = -0.1; }, "ambiguity_gap"},
       {[](auto& o) { o.ambiguity_gap = 1.1; }, "ambiguity_gap"},
       {[](auto& o) { o.ambiguity_gap = std::nan(""); }, "ambiguity_gap"}});
}

}  // namespace
}  // namespace voxloc
