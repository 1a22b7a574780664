// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/sequential_test.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc {
namespace {

absl::Status CheckBetween(absl::string_view field, double value, double low) {
  if (value > low && value < 1.0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be over ", low, " and below 1 (got ", value, ")"));
}

}  // namespace

absl::Status ValidateSequentialTestOptions(const SequentialTestOptions& options) {
  for (const absl::Status& status :
       {CheckBetween("yes_if_false", options.yes_if_false, 0.0),
        CheckBetween("yes_if_true", options.yes_if_true, options.yes_if_false),
        CheckBetween("false_acceptance", options.false_acceptance, 0.0),
        CheckBetween("false_rejection", options.false_rejection, 0.0)}) {
    if (!status.ok()) return status;
  }
  if (options.max_observations < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_observations must be at least 1 (got ", options.max_observations, ")"));
  }
  return absl::OkStatus();
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
