// SPDX-License-Identifier: Apache-2.0
//
// How `voxloc calibrate thresholds` chooses a threshold, against brute force over all thresholds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<ScoredAnswer> AnswersOf(const std::vector<double>& scores, bool accepted = true) {
  std::vector<ScoredAnswer> answers;
  for (const double score : scores) answers.push_back({score, accepted});
  return answers;
}

std::vector<double> AscendingScoresOf(const std::vector<ScoredAnswer>& answers) {
  std::vector<double> scores;
  for (const ScoredAnswer& answer : answers) scores.push_back(answer.score);
  std::sort(scores.begin(), scores.end());
  return scores;
}

// A part of the scores is on thresholds, where "over" and "not below" differ, with ties.
std::vector<ScoredAnswer> RandomAnswers(int count, double low, double high, bool on_thresholds,
                                        RandomNumbers* random) {
  std::vector<ScoredAnswer> answers;
  for (int i = 0; i < count; ++i) {
    const double score = random->Uniform(low, high);
    answers.push_back(
        {on_thresholds ? std::round(score * 50.0) / 50.0 : score, random->Uniform(0.0, 1.0) < 0.7});
  }
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
    const int count = 1 + round * 3;
    const auto answers = RandomAnswers(count, -1.0, 1.0, round % 2 == 0, &random);
    for (const double share : {0.001, 0.05, 0.5, 0.9, 0.95, 0.99, 1.0}) {
      const auto keeping = ThresholdsWhere([&](double threshold) {
        return static_cast<double>(CountOver(threshold, answers, false)) >= share * count - 1e-9;
      });
      EXPECT_EQ(LargestThresholdKeeping(share, AscendingScoresOf(answers)), keeping.back())
          << round << " " << share;
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
  EXPECT_FALSE(LeastThresholdRefusing(0.0, {}).has_value());
  const std::vector<double> equal_scores(50, 2.5);
  EXPECT_EQ(LargestThresholdKeeping(0.99, equal_scores), 2.499);
  EXPECT_EQ(LargestThresholdKeeping(0.01, equal_scores), 2.499);
  const auto equal = AnswersOf(equal_scores);
  EXPECT_EQ(LeastThresholdRefusing(0.0, equal), 2.5);
  EXPECT_FALSE(LeastThresholdRefusing(1.0, equal).has_value());
  EXPECT_FALSE(LeastThresholdRefusing(0.0, AnswersOf({9.0}, false)).has_value());
  for (const double score : {-kMaxScore, -1e-12, 0.0, 1e-12, 1.0 / 3.0, kMaxScore}) {
    const double below = LargestThresholdKeeping(1.0, {score});
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

TEST(ThresholdReport, RecommendsTheMidpointOfBruteForce) {
  RandomNumbers random(2);
  int separate = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const bool on_thresholds = round % 2 == 0;
    const double highest_wrong = random.Uniform(0.0, 1.0);
    const auto right = RandomAnswers(40 + round, 0.0, 1.0, on_thresholds, &random);
    const auto wrong = RandomAnswers(round, -1.0, highest_wrong, on_thresholds, &random);
    DriveScores scores;
    for (const v1::ScoreType type : {v1::SCORE_TYPE_NVTL, v1::SCORE_TYPE_TRANSFORM_PROBABILITY}) {
      scores.right[type] = right;
      scores.wrong[type] = wrong;
    }
    ThresholdCriteria criteria;
    criteria.keep_percent = random.Uniform(50.0, 100.0);
    criteria.max_wrong_percent = round % 3 == 0 ? 0.0 : random.Uniform(0.0, 20.0);
    const ThresholdFinding finding = FindThresholds(scores, criteria)[0];

    const auto share = [](size_t count, const std::vector<ScoredAnswer>& of) {
      return 100.0 * static_cast<double>(count) / static_cast<double>(of.size());
    };
    const double keeping =
        ThresholdsWhere([&](double threshold) {
          return share(CountOver(threshold, right, false), right) >= criteria.keep_percent;
        }).back();
    EXPECT_EQ(finding.keeping.threshold, keeping) << round;
    const size_t accepted = CountOver(keeping, wrong, true);
    ASSERT_EQ(finding.recommended.has_value(),
              accepted == 0 || share(accepted, wrong) <= criteria.max_wrong_percent)
        << round;
    if (!finding.recommended.has_value()) continue;
    ++separate;
    double highest = -2.0;
    for (const ScoredAnswer& answer : wrong) {
      if (answer.score <= keeping) highest = std::max(highest, answer.score);
    }
    const double midpoint = highest < -1.0 ? keeping : 0.5 * (highest + keeping);
    const double threshold = finding.recommended->threshold;
    EXPECT_GE(threshold, midpoint - 1e-9) << round;
    EXPECT_LT(threshold, midpoint + 0.001 + 1e-9) << round;
    EXPECT_EQ(finding.recommended->wrong_over, CountOver(keeping, wrong, false)) << round;
    EXPECT_EQ(finding.recommended->wrong_accepted, accepted) << round;
    EXPECT_EQ(finding.recommended->right_over, CountOver(threshold, right, false)) << round;
  }
  EXPECT_GT(separate, kRounds / 4);
  EXPECT_LT(separate, kRounds * 3 / 4);
}

TEST(ThresholdReport, ShowsTheMidpointAndTheThresholdThatKeepsTheAskedShare) {
  const DriveScores scores = ScoresOf(Evenly(3.0, 4.0, 101), Evenly(1.0, 2.0, 50));
  const auto findings = FindThresholds(scores, {});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].type, v1::SCORE_TYPE_TRANSFORM_PROBABILITY) << "the profile's comes first";
  EXPECT_EQ(findings[0].keeping.threshold, 3.009);
  EXPECT_EQ(findings[0].keeping.right_over, 100U);
  EXPECT_FALSE(findings[1].recommended.has_value());
  const std::string text = ThresholdText(scores, {}, findings);
  EXPECT_THAT(text, HasSubstr("Recommended: score_threshold 2.505 of transform-probability"));
  EXPECT_THAT(text, ContainsRegex("\n *2.505 .* recommended\n"));
  EXPECT_THAT(text, ContainsRegex("\n *3.009 .* keeps 99 % \\(--keep\\)\n"));
  EXPECT_EQ(ThresholdJson(scores, {}, findings)["recommended"], 2.505);
  const std::string profile = ProfileWithThreshold(scores, findings[0], "yard", "2026-01-31");
  EXPECT_THAT(profile, HasSubstr("\nname: \"yard\"\n"));
  EXPECT_THAT(profile, HasSubstr("\nscore_threshold: 2.505\n"));
  EXPECT_THAT(profile, HasSubstr("# Drive drive\\x0a- x, map yard: 101 of 101"));
}

TEST(ThresholdReport, RecommendsNothingWhereScoresDoNotSeparate) {
  const DriveScores scores = ScoresOf(Evenly(2.0, 3.0, 101), Evenly(2.0, 3.0, 101));
  const auto findings = FindThresholds(scores, {});
  EXPECT_FALSE(findings[0].recommended.has_value());
  const std::string text = ThresholdText(scores, {}, findings);
  EXPECT_THAT(text, HasSubstr("No threshold is recommended"));
  // Five of 101 wrong ones may pass, and as many right ones then do.
  EXPECT_THAT(text, HasSubstr("With 2.950, the smallest with which at most 5 % of them are "
                              "(--max-wrong), 5 of 101 right answers are kept"));
  EXPECT_TRUE(ThresholdJson(scores, {}, findings)["recommended"].is_null());
  // Where the profile's other checks refuse the wrong ones, the score need not.
  const DriveScores strict = ScoresOf(Evenly(2.0, 3.0, 101), Evenly(2.0, 3.0, 101), false);
  EXPECT_TRUE(FindThresholds(strict, {})[0].recommended.has_value());
}

TEST(ThresholdReport, SaysWhatItDoesNotKnow) {
  DriveScores scores = ScoresOf(Evenly(2.0, 3.0, 25), {});
  scores.wrong_from_pose = 3;
  const std::string text = ThresholdText(scores, {}, FindThresholds(scores, {}));
  EXPECT_THAT(text, HasSubstr("No search ended at a wrong pose"));
  EXPECT_THAT(text, HasSubstr("3 searches left the known pose"));
}

}  // namespace
}  // namespace voxloc::cli
