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
  kZeroStep,       // zero gradient, no point with a cell, or no observed direction
  kNotFinite,      // a number overflowed; the pose is the last finite one
  kCancelled,      // by the stop token; the pose is the best so far
  kDeadline,       // its deadline passed; likewise
  kNoImprovement,  // no stage beat the guess, which is the pose
};

// An external request to end a search early.
enum class Interrupt { kNone, kCancelled, kDeadline };

// The termination of a search that this interrupt, not kNone, has ended.
[[nodiscard]] VOXLOC_HD constexpr Termination TerminationFor(Interrupt interrupt) {
  return interrupt == Interrupt::kDeadline ? Termination::kDeadline : Termination::kCancelled;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_NDT_TERMINATION_H_
