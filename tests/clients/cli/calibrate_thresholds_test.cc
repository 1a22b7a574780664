// SPDX-License-Identifier: Apache-2.0
//
// How `voxloc calibrate thresholds` chooses a threshold, against brute force over all thresholds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "clients/cli/calibrate/displaced_starts.h"
#include "clients/cli/calibrate/score_threshold.h"
#include "clients/cli/calibrate/threshold_report.h"
#include "tests/support/random_numbers.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

std::vector<ScoredAnswer> AnswersOf(const std::vector<double>& scores, bool accepted = true) {
  std::vector<ScoredAnswer> answers;
  for (const double score : scores) answers.push_back({score, accepted});
  return answers;
}

size_t CountOver(double threshold, const std::vector<ScoredAnswer>& answers, bool accepted_only) {
  size_t count = 0;
  for (const ScoredAnswer& answer : answers) {
    count += answer.score > threshold && (answer.accepted_otherwise || !accepted_only) ? 1U : 0U;
  }
  return count;
}

// The thresholds from -1.1 to 1.1, of which those of the tests' scores are.
std::vector<double> ThresholdsWhere(const std::function<bool(double)>& holds) {
  std::vector<double> thresholds;
  for (int i = -1100; i <= 1100; ++i) {
    if (holds(i / 1000.0)) thresholds.push_back(i / 1000.0);
  }
  return thresholds;
}

TEST(ScoreThreshold, IsTheOneOfBruteForce) {
  RandomNumbers random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<ScoredAnswer> answers;
    const int count = 1 + round * 3;
    for (int i = 0; i < count; ++i) {
      double score = random.Uniform(-1.0, 1.0);
      // On a threshold, where "over" and "not below" differ; with ties.
      if (round % 2 == 0) score = std::round(score * 50.0) / 50.0;
      answers.push_back({score, random.Uniform(0.0, 1.0) < 0.7});
    }
    for (const double share : {0.001, 0.05, 0.5, 0.9, 0.95, 0.99, 1.0}) {
      const auto keeping = ThresholdsWhere([&](double threshold) {
        return static_cast<double>(CountOver(threshold, answers, false)) >= share * count - 1e-9;
      });
      EXPECT_EQ(LargestThresholdKeeping(share, answers), keeping.back()) << round << " " << share;
      const auto refusing = ThresholdsWhere([&](double threshold) {
        return static_cast<double>(CountOver(threshold, answers, true)) <= share * count + 1e-9;
      });
      const auto least = LeastThresholdRefusing(share, answers);
      ASSERT_FALSE(refusing.empty());
      if (least.has_value()) {
        EXPECT_EQ(*least, refusing.front()) << round << " " << share;
      } else {
        EXPECT_EQ(refusing.front(), -1.1) << round << " " << share;
      }
    }
  }
}

TEST(ScoreThreshold, EdgeCases) {
  EXPECT_FALSE(LargestThresholdKeeping(0.99, {}).has_value());
  EXPECT_FALSE(LeastThresholdRefusing(0.0, {}).has_value());
  const auto equal = AnswersOf(std::vector<double>(50, 2.5));
  EXPECT_EQ(LargestThresholdKeeping(0.99, equal), 2.499);
  EXPECT_EQ(LargestThresholdKeeping(0.01, equal), 2.499);
  EXPECT_EQ(LeastThresholdRefusing(0.0, equal), 2.5);
  EXPECT_FALSE(LeastThresholdRefusing(1.0, equal).has_value());
  EXPECT_FALSE(LeastThresholdRefusing(0.0, AnswersOf({9.0}, false)).has_value());
  for (const double score : {-kMaxScore, -1e-12, 0.0, 1e-12, 1.0 / 3.0, kMaxScore}) {
    const double below = *LargestThresholdKeeping(1.0, AnswersOf({score}));
    EXPECT_LT(below, score);
    EXPECT_GE(ThresholdAtOrOver(score), score);
    EXPECT_NEAR(below, score, 0.0011);
    EXPECT_NEAR(ThresholdAtOrOver(score), score, 0.0011);
  }
}

TEST(ScoreThreshold, RatesCountWhatIsOverAndWhatIsAccepted) {
  const std::vector<ScoredAnswer> right = {{2.0, true}, {2.1, true}, {2.2, false}};
  const std::vector<ScoredAnswer> wrong = {{2.0, true}, {2.5, false}, {3.0, true}, {1.0, true}};
  const ThresholdRates rates = RatesAt(2.0, right, wrong);
  EXPECT_EQ(rates.right_over, 2U);
  EXPECT_EQ(rates.right_accepted, 1U);
  EXPECT_EQ(rates.wrong_over, 2U);
  EXPECT_EQ(rates.wrong_accepted, 1U);
}

// The interval's ends are the shares p with |count/total - p| = z * sqrt(p (1 - p) / total).
TEST(WilsonInterval, EndsWhereTheNormalTestDoes) {
  for (const auto& [count, total] :
       std::vector<std::pair<size_t, size_t>>{{0, 10}, {1, 3}, {119, 120}, {500, 1000}, {7, 7}}) {
    const ShareInterval interval = WilsonInterval(count, total);
    const double n = static_cast<double>(total);
    const double share = static_cast<double>(count) / n;
    for (const double p : {interval.low, interval.high}) {
      EXPECT_NEAR(std::abs(share - p), 1.95996 * std::sqrt(p * (1.0 - p) / n), 1e-5)
          << count << " of " << total;
    }
    EXPECT_LE(interval.low, share);
    EXPECT_GE(interval.high, share);
    EXPECT_LT(interval.low, interval.high);
  }
  EXPECT_EQ(WilsonInterval(0, 0).low, 0.0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1.0);
}

TEST(DisplacedStarts, AreAtTheStatedDistancesAndAngles) {
  Pose known;
  known.translation = {10.0, -20.0, 3.0};
  known.rotation = Eigen::AngleAxisd(0.4, Eigen::Vector3d(0.1, 0.2, 1.0).normalized());
  const std::vector<Pose> starts = DisplacedStarts(known, 7, 1.25, 10.0);
  ASSERT_EQ(starts.size(), kDisplacedStarts);
  constexpr double kDegree = M_PI / 180.0;
  for (size_t i = 0; i < 8; ++i) {
    const double distance_m = 1.25 * std::pow(2.0, static_cast<double>(i / 2));
    EXPECT_NEAR(TranslationDistance(starts[i], known), distance_m, 1e-9) << i;
    EXPECT_NEAR(RotationDistance(starts[i], known), i % 2 == 0 ? 0.0 : 20.0 * kDegree, 1e-7) << i;
    EXPECT_EQ(starts[i].translation.z(), known.translation.z());
  }
  EXPECT_NEAR(RotationDistance(starts[8], known), 45.0 * kDegree, 1e-9);
  EXPECT_NEAR(RotationDistance(starts[9], known), 90.0 * kDegree, 1e-9);
  EXPECT_NEAR(RotationDistance(starts[10], known), M_PI, 1e-7);
  for (size_t i = 8; i < 11; ++i) EXPECT_EQ(starts[i].translation, known.translation);
  // Cells that are larger than the farthest start.
  EXPECT_NEAR(TranslationDistance(DisplacedStarts(known, 0, 20.0, 5.0)[0], known), 5.0, 1e-9);
}

DriveScores ScoresOf(const std::vector<double>& right, const std::vector<double>& wrong,
                     bool wrong_accepted = true) {
  DriveScores scores;
  scores.drive = "drive\n- x";
  scores.map = "yard";
  scores.profile.set_name("autoware");
  scores.profile.set_score_type(v1::SCORE_TYPE_TRANSFORM_PROBABILITY);
  scores.profile.set_score_threshold(2.3);
  scores.scans = right.size();
  scores.right[v1::SCORE_TYPE_TRANSFORM_PROBABILITY] = AnswersOf(right);
  scores.right[v1::SCORE_TYPE_NVTL] = AnswersOf(std::vector<double>(right.size(), 1.0));
  if (!wrong.empty()) {
    scores.wrong[v1::SCORE_TYPE_TRANSFORM_PROBABILITY] = AnswersOf(wrong, wrong_accepted);
    scores.wrong[v1::SCORE_TYPE_NVTL] = AnswersOf(std::vector<double>(wrong.size(), 2.0));
  }
  return scores;
}

std::vector<double> Evenly(double from, double to, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(from + (to - from) * i / (count - 1));
  return values;
}

TEST(ThresholdReport, RecommendsWhatKeepsTheAskedShare) {
  const DriveScores scores = ScoresOf(Evenly(3.0, 4.0, 101), Evenly(1.0, 2.0, 50));
  const auto findings = FindThresholds(scores, {});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].type, v1::SCORE_TYPE_TRANSFORM_PROBABILITY) << "the profile's comes first";
  EXPECT_TRUE(findings[0].separates());
  EXPECT_EQ(findings[0].chosen.threshold, 3.009);
  EXPECT_EQ(findings[0].chosen.right_over, 100U);
  EXPECT_FALSE(findings[1].separates());
  const std::string text = ThresholdText(scores, {}, findings);
  EXPECT_THAT(text, HasSubstr("Recommended: score_threshold 3.009 of transform-probability"));
  EXPECT_THAT(text, HasSubstr("No wrong answer is over 2.000"));
  EXPECT_EQ(ThresholdJson(scores, {}, findings)["recommended"], 3.009);
  const std::string profile = ProfileWithThreshold(scores, findings[0], "yard", "2026-01-31");
  EXPECT_THAT(profile, HasSubstr("\nname: \"yard\"\n"));
  EXPECT_THAT(profile, HasSubstr("\nscore_threshold: 3.009\n"));
  EXPECT_THAT(profile, HasSubstr("# Drive drive\\x0a- x, map yard: 100 of 101"));
}

TEST(ThresholdReport, TakesTheMiddleWhereAllWrongAnswersScoreLower) {
  ThresholdCriteria criteria;
  criteria.middle = true;
  EXPECT_EQ(FindThresholds(ScoresOf(Evenly(3.0, 4.0, 101), Evenly(1.0, 2.0, 50)), criteria)[0]
                .chosen.threshold,
            2.505);  // of 2 and 3.009
  EXPECT_EQ(FindThresholds(ScoresOf(Evenly(3.0, 4.0, 101), Evenly(1.0, 3.5, 50)), criteria)[0]
                .chosen.threshold,
            3.009);
  EXPECT_EQ(FindThresholds(ScoresOf(Evenly(3.0, 4.0, 101), {}), criteria)[0].chosen.threshold,
            3.009);
}

TEST(ThresholdReport, RecommendsNothingWhereScoresDoNotSeparate) {
  const DriveScores scores = ScoresOf(Evenly(2.0, 3.0, 101), Evenly(2.0, 3.0, 101));
  const auto findings = FindThresholds(scores, {});
  EXPECT_FALSE(findings[0].separates());
  const std::string text = ThresholdText(scores, {}, findings);
  EXPECT_THAT(text, HasSubstr("No threshold is recommended"));
  // Five of 101 wrong ones may pass, and as many right ones then do.
  EXPECT_THAT(text, HasSubstr("With 2.950, the smallest with which at most 5 % of them are "
                              "(--max-wrong), 5 of 101 right answers are kept"));
  EXPECT_TRUE(ThresholdJson(scores, {}, findings)["recommended"].is_null());
  // Where the profile's other checks refuse the wrong ones, the score need not.
  const DriveScores strict = ScoresOf(Evenly(2.0, 3.0, 101), Evenly(2.0, 3.0, 101), false);
  EXPECT_TRUE(FindThresholds(strict, {})[0].separates());
}

TEST(ThresholdReport, SaysWhatItDoesNotKnow) {
  DriveScores scores = ScoresOf(Evenly(2.0, 3.0, 25), {});
  scores.wrong_from_pose = 3;
  const std::string text = ThresholdText(scores, {}, FindThresholds(scores, {}));
  EXPECT_THAT(text, HasSubstr("25 right answers are too few to lose any of them and keep 99 %"));
  EXPECT_THAT(text, HasSubstr("No search ended at a wrong pose"));
  EXPECT_THAT(text, HasSubstr("3 searches left the known pose"));
}

}  // namespace
}  // namespace voxloc::cli
