// SPDX-License-Identifier: Apache-2.0
//
// PoseCorrection: the offset between a client's own poses and the vehicle's pose after a recovery,
// kept until the client's poses are right again. Meanwhile each scan is aligned from both guesses,
// the corrected one and the client's own, and the better result counts. So it works whether the
// client's poses stay wrong, converge slowly, or jump back. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_POSE_CORRECTION_H_
#define VOXLOC_CORE_TRACKING_POSE_CORRECTION_H_

#include "core/geometry/pose.h"
#include "core/tracking/propagated_pose.h"
#include "core/tracking/sequential_test.h"

namespace voxloc {

class PoseCorrection {
 public:
  // The vehicle is at `map_T_base` where its client says `odometry_T_base`. The correction ends
  // when a test of these options has accepted that the client's own poses suffice.
  PoseCorrection(const Pose& map_T_base, const Pose& odometry_T_base,
                 const SequentialTestOptions& release)
      : vehicle_{map_T_base, odometry_T_base}, release_(release) {}

  [[nodiscard]] Pose Apply(const Pose& odometry_T_base) const {
    return vehicle_.At(odometry_T_base);
  }

  // A scan was accepted at `map_T_base`; `uncorrected_suffices`: the alignment from the client's
  // own pose led there too. False: the correction has ended.
  [[nodiscard]] bool Update(const Pose& map_T_base, const Pose& odometry_T_base,
                            bool uncorrected_suffices) {
    vehicle_ = {map_T_base, odometry_T_base};
    const TestDecision decision = release_.Observe(uncorrected_suffices);
    if (decision == TestDecision::kRejected) release_.Restart();
    return decision != TestDecision::kAccepted;
  }

 private:
  PropagatedPose vehicle_;
  SequentialTest release_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_POSE_CORRECTION_H_
