// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_proposal.h"

#include <algorithm>

namespace voxloc {

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
