// SPDX-License-Identifier: Apache-2.0
//
// PoseProposal: a pose that was found while the vehicle was lost, until later scans have confirmed
// or refuted it. Odometry carries it on from scan to scan. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_POSE_PROPOSAL_H_
#define VOXLOC_CORE_TRACKING_POSE_PROPOSAL_H_

#include <optional>

#include "core/geometry/pose.h"
#include "core/tracking/propagated_pose.h"
#include "core/tracking/sequential_test.h"

namespace voxloc {

// Where a proposed pose stands.
enum class ProposalState {
  kNone,       // no pose was found
  kPending,    // found, and not decided yet
  kConfirmed,  // later scans agree
  kDropped,    // they do not, or too many were checked, or the vehicle was found otherwise
};

// The state of the recovery of a lost vehicle after one scan.
struct RecoveryOutcome {
  ProposalState state = ProposalState::kNone;
  int checked_scans = 0;   // that were compared with the found pose
  int agreeing_scans = 0;  // those of them that agree with it
  bool decided = false;    // with this scan
  bool applied = false;    // whether the session has taken the pose as its own
};

class PoseProposal {
 public:
  // A test that accepts the pose counts once odometry has moved by `min_travel_m` from where the
  // pose was found; before that, a new test begins.
  PoseProposal(const Pose& map_T_base, const std::optional<Pose>& odometry_T_base,
               const SequentialTestOptions& confirmation, double min_travel_m = 0.0)
      : vehicle_{map_T_base, odometry_T_base},
        found_odometry_T_base_(odometry_T_base),
        min_travel_m_(min_travel_m),
        test_(confirmation) {
    outcome_.state = ProposalState::kPending;
  }

  // Where the vehicle must be if the proposal is right. Without odometry: where it was.
  [[nodiscard]] Pose Expected(const std::optional<Pose>& odometry_T_base) const {
    return vehicle_.At(odometry_T_base);
  }

  // A later scan was compared with it: the pose at which it agrees, nullopt where it does not, and
  // the odometry at that scan.
  void Check(const std::optional<Pose>& map_T_base, const std::optional<Pose>& odometry_T_base);

  // A confirmed proposal stays so until as many scans disagree as drop a new one.
  // Never applied.
  [[nodiscard]] const RecoveryOutcome& outcome() const { return outcome_; }

 private:
  PropagatedPose vehicle_;
  std::optional<Pose> found_odometry_T_base_;
  double min_travel_m_;
  double travel_m_ = 0.0;  // the farthest that odometry has been from there
  SequentialTest test_;    // since the pose was found or last confirmed
  RecoveryOutcome outcome_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_POSE_PROPOSAL_H_
