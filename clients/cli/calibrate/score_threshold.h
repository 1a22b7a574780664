// SPDX-License-Identifier: Apache-2.0
//
// The choice of a score threshold from the scores of right and of wrong answers. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_SCORE_THRESHOLD_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_SCORE_THRESHOLD_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace voxloc::cli {

// Thresholds are multiples of 0.001: fine enough for scores of 0.1 and more.
constexpr double kThresholdsPerUnit = 1000.0;

// Of an answer, either sign. A threshold of -kMaxScore, which the server's limit of 1e9 allows,
// lets all pass.
constexpr double kMaxScore = 1e8;

struct ScoredAnswer {
  double score = 0.0;              // finite, between -kMaxScore and kMaxScore
  bool accepted_otherwise = true;  // it passes all other checks of the profile
};

// Of right and of wrong answers, how many have a score over a threshold, as an accepted answer
// must, and how many of those pass the other checks as well.
struct ThresholdRates {
  double threshold = 0.0;
  size_t right_over = 0;
  size_t right_accepted = 0;
  size_t wrong_over = 0;
  size_t wrong_accepted = 0;
};

[[nodiscard]] ThresholdRates RatesAt(double threshold, const std::vector<ScoredAnswer>& right,
                                     const std::vector<ScoredAnswer>& wrong);

// The smallest threshold that an answer of this score is not over.
[[nodiscard]] double ThresholdAtOrOver(double score);

// The largest threshold that at least ceil(`keep` * scores) of the scores are over; `keep` is over
// 0 and at most 1. At least one score.
[[nodiscard]] double LargestThresholdKeeping(double keep,
                                             const std::vector<double>& ascending_scores);

// The smallest threshold that at most floor(`let` * answers) answers pass with everything else;
// `let` is from 0 to 1. nullopt: no more than these are accepted at any threshold.
[[nodiscard]] std::optional<double> LeastThresholdRefusing(
    double let, const std::vector<ScoredAnswer>& answers);

struct ShareInterval {
  double low = 0.0;
  double high = 1.0;
};

// The 95 % interval of a share of which `count` of `total` independent cases were seen, by Wilson
// (1927); 0 to 1 where there are none.
[[nodiscard]] ShareInterval WilsonInterval(size_t count, size_t total);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_SCORE_THRESHOLD_H_
