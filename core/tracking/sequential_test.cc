// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/sequential_test.h"

#include <cmath>

#include "core/text/number_range.h"

namespace voxloc {

absl::Status ValidateSequentialTestOptions(const SequentialTestOptions& options) {
  const NumberRange probability = Over(0.0).Below(1.0);
  return CheckRanges({{"yes_if_false", options.yes_if_false, probability},
                      {"yes_if_true", options.yes_if_true, Over(options.yes_if_false).Below(1.0)},
                      {"false_acceptance", options.false_acceptance, probability},
                      {"false_rejection", options.false_rejection, probability},
                      {"max_observations", options.max_observations, AtLeast(1)}});
}

TestDecision SequentialTest::Observe(bool yes) {
  if (decision_ != TestDecision::kOpen) return decision_;
  ++observations_;
  const double if_true = yes ? options_.yes_if_true : 1.0 - options_.yes_if_true;
  const double if_false = yes ? options_.yes_if_false : 1.0 - options_.yes_if_false;
  log_ratio_ += std::log(if_true / if_false);
  if (yes) ++yes_count_;
  if (log_ratio_ >= -std::log(options_.false_acceptance)) {
    decision_ = TestDecision::kAccepted;
  } else if (log_ratio_ <= std::log(options_.false_rejection) ||
             observations_ >= options_.max_observations) {
    decision_ = TestDecision::kRejected;
  }
  return decision_;
}

}  // namespace voxloc
