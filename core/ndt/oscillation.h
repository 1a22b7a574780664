// SPDX-License-Identifier: Apache-2.0
//
// Detects oscillation: the longest run of consecutive steps that each reverse the one before, by an
// angle of more than acos(-0.9). A step of length zero ends a run.

#ifndef VOXLOC_CORE_NDT_OSCILLATION_H_
#define VOXLOC_CORE_NDT_OSCILLATION_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/symmetric3.h"

namespace voxloc::ndt {

class OscillationCounter {
 public:
  // Positions in the order visited, the guess first.
  VOXLOC_HD void Visit(const Vector3<double>& position) {
    if (visited_ > 0) {
      const Vector3<double> step = {position.x - last_.x, position.y - last_.y,
                                    position.z - last_.z};
      const double along = Dot(step, step_);
      const bool reversed =
          visited_ > 1 && along < 0.0 &&
          along * along > kReversalCosine * kReversalCosine * (Dot(step, step) * Dot(step_, step_));
      run_ = reversed ? run_ + 1 : 0;
      longest_ = run_ > longest_ ? run_ : longest_;
      step_ = step;
    }
    last_ = position;
    ++visited_;
  }

  VOXLOC_HD int LongestRun() const { return longest_; }

 private:
  static constexpr double kReversalCosine = -0.9;

  Vector3<double> last_;
  Vector3<double> step_;
  int visited_ = 0;
  int run_ = 0;
  int longest_ = 0;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_OSCILLATION_H_
