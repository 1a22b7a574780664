// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_proposal.h"

#include <algorithm>
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

void PoseProposal::Check(const std::optional<Pose>& map_T_base,
                         const std::optional<Pose>& odometry_T_base) {
  const bool agrees = map_T_base.has_value();
  if (agrees) vehicle_ = {*map_T_base, odometry_T_base};
  if (found_odometry_T_base_ && odometry_T_base) {
    travel_m_ = std::max(travel_m_, TranslationDistance(*odometry_T_base, *found_odometry_T_base_));
  }
  ++outcome_.checked_scans;
  if (agrees) ++outcome_.agreeing_scans;
  const ProposalState before = outcome_.state;
  switch (test_.Observe(agrees)) {
    case TestDecision::kAccepted:
      if (travel_m_ >= min_travel_m_) outcome_.state = ProposalState::kConfirmed;
      test_.Restart();
      break;
    case TestDecision::kRejected:
      outcome_.state = ProposalState::kDropped;
      break;
    case TestDecision::kOpen:
      break;
  }
  outcome_.decided = outcome_.state != before;
}

}  // namespace voxloc
