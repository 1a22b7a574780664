// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/estimate/scan_estimate.h"

namespace voxloc {
namespace {

struct Found {
  double x_m = 0.0;
  double nvtl = 0.0;
  std::optional<double> confidence;
};

// What a search ranks by NVTL, with the estimates of its hypotheses.
struct Ranking {
  explicit Ranking(const std::vector<Found>& found) {
    for (const Found& one : found) {
      PoseHypothesis& hypothesis = ranked.hypotheses.emplace_back();
      hypothesis.result.map_T_base.translation.x() = one.x_m;
      hypothesis.result.after.nearest_voxel_likelihood = one.nvtl;
      ScanEstimate& estimate = estimates.emplace_back();
      estimate.covariance.covariance(0, 0) = one.x_m;
      if (!one.confidence.has_value()) continue;
      estimate.confidence.emplace();
      estimate.confidence->value = *one.confidence;
    }
    ranked.ambiguity_gap = 0.2;
    RankByConfidence(ranked, estimates);
  }

  [[nodiscard]] std::vector<double> Places() const {
    std::vector<double> places;
    for (size_t i = 0; i < estimates.size(); ++i) {
      places.push_back(ranked.hypotheses[i].result.map_T_base.translation.x());
      EXPECT_EQ(estimates[i].covariance.covariance(0, 0), places.back());
    }
    return places;
  }

  RankedHypotheses ranked;
  std::vector<ScanEstimate> estimates;
};

TEST(RankByConfidenceTest, TheMostLikelyComesFirstWithItsEstimate) {
  const Ranking ranking({{1.0, 3.0, 0.9}, {2.0, 2.5, 0.1}, {3.0, 2.4, 0.4}});
  EXPECT_THAT(ranking.Places(), testing::ElementsAre(1.0, 3.0, 2.0));
  EXPECT_FALSE(ranking.ranked.ambiguous);
  EXPECT_EQ(ranking.ranked.ambiguity_gap, 0.2);
}

TEST(RankByConfidenceTest, IsAmbiguousWhereAnotherThanTheBestOfTheNvtlComesFirst) {
  const Ranking ranking({{1.0, 3.0, 0.2}, {2.0, 2.5, 0.8}});
  EXPECT_THAT(ranking.Places(), testing::ElementsAre(2.0, 1.0));
  EXPECT_TRUE(ranking.ranked.ambiguous);
}

TEST(RankByConfidenceTest, KeepsTheOrderOfEqualsAndOfThoseWithoutAConfidence) {
  EXPECT_THAT(Ranking({{1.0, 3.0, 0.5}, {2.0, 2.5, 0.5}}).Places(), testing::ElementsAre(1.0, 2.0));
  const Ranking without({{1.0, 3.0, std::nullopt}, {2.0, 2.5, std::nullopt}});
  EXPECT_THAT(without.Places(), testing::ElementsAre(1.0, 2.0));
  EXPECT_FALSE(without.ranked.ambiguous);
  EXPECT_TRUE(Ranking({}).Places().empty());
}

}  // namespace
}  // namespace voxloc
