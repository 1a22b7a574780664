// SPDX-License-Identifier: Apache-2.0
//
// Lets tracking run first on a busy processor.

#ifndef VOXLOC_SERVER_SCHEDULING_THREAD_PRIORITY_H_
#define VOXLOC_SERVER_SCHEDULING_THREAD_PRIORITY_H_

#include <sys/resource.h>

namespace voxloc::server {

// The calling thread then gets about a tenth of the time of a thread that it competes with. On
// Linux, niceness is the thread's own. Best effort: where it is not allowed, nothing changes.
inline void LowerPriorityOfThisThread() {
  constexpr int kNiceness = 10;
  static_cast<void>(setpriority(PRIO_PROCESS, 0, kNiceness));
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_THREAD_PRIORITY_H_
