// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/deadlock_detection.h"

#include "absl/synchronization/mutex.h"

namespace voxloc {

void DisableDeadlockDetection() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace voxloc
