// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/lock_checks.h"

#include "absl/synchronization/mutex.h"

namespace voxloc {

void SkipLockChecks() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace voxloc
