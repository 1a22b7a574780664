// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_correction.h"

namespace voxloc {

bool PoseCorrection::Follow(const Pose& map_T_base, const Pose& odometry_T_base,
                            bool own_suffices) {
  vehicle_ = {map_T_base, odometry_T_base};
  switch (release_.Observe(own_suffices)) {
    case TestDecision::kAccepted:
      return false;
    case TestDecision::kRejected:
      release_.Restart();
      return true;
    case TestDecision::kOpen:
      return true;
  }
  return true;
}

}  // namespace voxloc
