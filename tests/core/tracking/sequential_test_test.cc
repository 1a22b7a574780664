// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "core/tracking/pose_proposal.h"
#include "tests/core/tracking/refused_options.h"

namespace voxloc {
namespace {

// What a test comes to when each observation is a yes with this probability: by going through all
// sequences, those of as many observations and as many yes together.
struct Outcomes {
  double accepted = 0.0;
  double rejected = 0.0;
  double observations = 0.0;  // mean, until the decision
};

Outcomes Enumerate(const SequentialTestOptions& options, double yes) {
  struct Node {
    SequentialTest test;
    double probability;
  };
  Outcomes outcomes;
  std::map<int, Node> open = {{0, {SequentialTest(options), 1.0}}};
  while (!open.empty()) {
    std::map<int, Node> next;
    for (const auto& [yes_count, node] : open) {
      for (const bool is_yes : {true, false}) {
        SequentialTest test = node.test;
        const double probability = node.probability * (is_yes ? yes : 1.0 - yes);
        const TestDecision decision = test.Observe(is_yes);
        if (decision == TestDecision::kOpen) {
          const auto [place, fresh] = next.emplace(test.yes_count(), Node{test, probability});
          if (!fresh) place->second.probability += probability;
          continue;
        }
        (decision == TestDecision::kAccepted ? outcomes.accepted : outcomes.rejected) +=
            probability;
        outcomes.observations += probability * test.observations();
      }
    }
    open = std::move(next);
  }
  return outcomes;
}

TEST(SequentialTestTest, ItsErrorRatesAreBelowWhatIsAskedFor) {
  for (const double true_rate : {0.7, 0.9, 0.97}) {
    for (const double false_rate : {0.05, 0.2, 0.5}) {
      for (const double error : {0.1, 1e-2, 1e-4}) {
        SequentialTestOptions options;
        options.yes_if_true = true_rate;
        options.yes_if_false = false_rate;
        options.false_acceptance = error;
        options.false_rejection = error;
        options.max_observations = 5000;  // never the reason
        const Outcomes if_false = Enumerate(options, false_rate);
        const Outcomes if_true = Enumerate(options, true_rate);
        EXPECT_NEAR(if_false.accepted + if_false.rejected, 1.0, 1e-9);
        EXPECT_LE(if_false.accepted, error) << true_rate << " " << false_rate;
        EXPECT_LE(if_true.rejected, error) << true_rate << " " << false_rate;
        EXPECT_GT(if_false.accepted, error * 1e-3);  // and not by being deaf
        // A worse hypothesis than the false one is accepted more rarely still.
        EXPECT_LE(Enumerate(options, 0.5 * false_rate).accepted, if_false.accepted);
      }
    }
  }
}

TEST(SequentialTestTest, TheDefaultsConfirmARightPoseInFiveScans) {
  const SequentialTestOptions options;
  SequentialTest test(options);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(test.Observe(true), TestDecision::kOpen);
  EXPECT_EQ(test.Observe(true), TestDecision::kAccepted);
  EXPECT_EQ(test.observations(), 5);
  const Outcomes if_true = Enumerate(options, options.yes_if_true);
  const Outcomes if_false = Enumerate(options, options.yes_if_false);
  EXPECT_LT(if_false.accepted, 1e-3);
  EXPECT_GT(if_true.accepted, 0.985);
  EXPECT_LT(if_true.observations, 7.0);
  EXPECT_LT(if_false.observations, 5.0);
  EXPECT_GT(Enumerate(options, 0.99).accepted, 0.999);
}

TEST(SequentialTestTest, ATestThatStaysOpenEndsRejected) {
  SequentialTestOptions options;
  options.max_observations = 6;
  options.false_acceptance = 1e-6;
  SequentialTest test(options);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(test.Observe(true), TestDecision::kOpen);
  EXPECT_EQ(test.Observe(true), TestDecision::kRejected);
}

TEST(SequentialTestTest, ADecisionStaysUntilTheTestIsRestarted) {
  SequentialTest test{SequentialTestOptions()};
  while (test.decision() == TestDecision::kOpen) test.Observe(false);
  EXPECT_EQ(test.decision(), TestDecision::kRejected);
  const int observations = test.observations();
  EXPECT_EQ(test.Observe(true), TestDecision::kRejected);
  EXPECT_EQ(test.observations(), observations);
  test.Restart();
  EXPECT_EQ(test.decision(), TestDecision::kOpen);
  EXPECT_EQ(test.observations(), 0);
  EXPECT_EQ(test.yes_count(), 0);
  EXPECT_EQ(test.log_likelihood_ratio(), 0.0);
}

TEST(SequentialTestTest, TheRatioIsThatOfTheTwoHypotheses) {
  SequentialTestOptions options;
  options.yes_if_true = 0.8;
  options.yes_if_false = 0.4;
  SequentialTest test(options);
  test.Observe(true);
  EXPECT_NEAR(test.log_likelihood_ratio(), std::log(2.0), 1e-12);
  test.Observe(false);
  EXPECT_NEAR(test.log_likelihood_ratio(), std::log(2.0) - std::log(3.0), 1e-12);
  EXPECT_EQ(test.yes_count(), 1);
}

TEST(SequentialTestTest, ValuesOutOfRangeAreNamed) {
  ExpectRefused<SequentialTestOptions>(
      ValidateSequentialTestOptions,
      {{[](auto& o) { o.yes_if_false = 0.0; }, "yes_if_false must be over 0 and below 1 (got 0)"},
       {[](auto& o) { o.yes_if_true = 0.1; }, "yes_if_true must be over 0.2 and below 1 (got 0.1)"},
       {[](auto& o) { o.yes_if_true = 1.0; }, "yes_if_true must be"},
       {[](auto& o) { o.false_acceptance = std::nan(""); }, "(got nan)"},
       {[](auto& o) { o.false_rejection = 1.0; },
        "false_rejection must be over 0 and below 1 (got 1)"},
       {[](auto& o) { o.max_observations = 0; }, "max_observations must be at least 1 (got 0)"}});
}

}  // namespace
}  // namespace voxloc
