// SPDX-License-Identifier: Apache-2.0
//
// SequentialTest: the sequential probability ratio test of A. Wald (Sequential Tests of Statistical
// Hypotheses, Annals of Mathematical Statistics 16(2), 1945) for yes/no observations. A hypothesis
// is accepted once P(observations | true) / P(observations | false) >= 1 / false_acceptance.
//
// For observations that are independent given the hypothesis, the error rates are bounds and not
// approximations: the likelihood ratio is a martingale of mean 1 if the hypothesis is false, so it
// reaches 1 / false_acceptance with at most that probability (J. Ville, 1939), and its inverse
// likewise. Not thread-safe.

#ifndef VOXLOC_CORE_TRACKING_SEQUENTIAL_TEST_H_
#define VOXLOC_CORE_TRACKING_SEQUENTIAL_TEST_H_

#include "absl/status/status.h"

namespace voxloc {

struct SequentialTestOptions {
  // Probability of a yes if the hypothesis is true, and if it is false; 0 < false < true < 1. The
  // defaults here are those of the confirmation of a recovery; RecoveryOptions has their origin.
  double yes_if_true = 0.9;
  double yes_if_false = 0.2;
  // Largest probability of accepting a false hypothesis, and of rejecting a true one by the ratio;
  // in (0, 1).
  double false_acceptance = 1e-3;
  double false_rejection = 1e-2;
  // A test that is still open after as many observations is rejected. >= 1.
  int max_observations = 20;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateSequentialTestOptions(const SequentialTestOptions& options);

enum class TestDecision { kOpen, kAccepted, kRejected };

class SequentialTest {
 public:
  explicit SequentialTest(const SequentialTestOptions& options) : options_(options) {}

  // Takes an observation. A test that has been decided stays so.
  TestDecision Observe(bool yes);
  // Forgets all observations.
  void Restart() { *this = SequentialTest(options_); }

  [[nodiscard]] TestDecision decision() const { return decision_; }
  [[nodiscard]] int observations() const { return observations_; }
  [[nodiscard]] int yes_count() const { return yes_count_; }
  // Of what was observed, true over false, as a natural logarithm.
  [[nodiscard]] double log_likelihood_ratio() const { return log_ratio_; }

 private:
  SequentialTestOptions options_;
  TestDecision decision_ = TestDecision::kOpen;
  int observations_ = 0;
  int yes_count_ = 0;
  double log_ratio_ = 0.0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_SEQUENTIAL_TEST_H_
