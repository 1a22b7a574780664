// SPDX-License-Identifier: Apache-2.0
//
// Why a search ends.

#ifndef VOXLOC_CORE_NDT_TERMINATION_H_
#define VOXLOC_CORE_NDT_TERMINATION_H_

#include "core/ndt/host_device.h"

namespace voxloc {

enum class Termination {
  kConverged,      // the last step was shorter than epsilon
  kMaxIterations,  // the limit of the last stage was reached
  kZeroStep,       // nothing to do, no point met a cell, or no direction was observed
  kNotFinite,      // a number overflowed; the pose is the last finite one
  kCancelled,      // the stop token was raised; the pose is the best so far
  kDeadline,       // its deadline passed; likewise
  kNoImprovement,  // no stage beat the guess, which is the pose
};

// What asks a search to end before it is done.
enum class Interrupt { kNone, kCancelled, kDeadline };

// Of a search that an interrupt other than kNone has ended.
[[nodiscard]] VOXLOC_HD constexpr Termination TerminationBy(Interrupt interrupt) {
  return interrupt == Interrupt::kDeadline ? Termination::kDeadline : Termination::kCancelled;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_NDT_TERMINATION_H_
