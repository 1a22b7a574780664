// SPDX-License-Identifier: Apache-2.0
//
// Debian builds abseil without NDEBUG: every absl::Mutex, including gRPC's, then records the order
// of acquisitions in one process-wide graph behind one lock, to detect deadlocks. Release programs
// disable that. See SetMutexDeadlockDetectionMode in absl/synchronization/mutex.h.

#ifndef VOXLOC_CORE_PARALLEL_DEADLOCK_DETECTION_H_
#define VOXLOC_CORE_PARALLEL_DEADLOCK_DETECTION_H_

#include "absl/synchronization/mutex.h"

namespace voxloc {

// With NDEBUG: disables deadlock detection in this process from now on. Called at the start of
// main.
inline void DisableDeadlockDetection() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_DEADLOCK_DETECTION_H_
