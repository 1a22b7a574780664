// SPDX-License-Identifier: Apache-2.0
//
// The name, the priority and the processor time of the calling thread.

#ifndef VOXLOC_CORE_PARALLEL_THIS_THREAD_H_
#define VOXLOC_CORE_PARALLEL_THIS_THREAD_H_

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <string>

namespace voxloc {

// For debuggers and `top -H`; Linux keeps 15 characters.
inline void SetThreadName(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

// Lets others, such as tracking, run first on a busy processor: the thread then gets about a tenth
// of the time of one that it competes with. On Linux, niceness is the thread's own. Best effort:
// where it is not allowed, nothing changes.
inline void LowerThreadPriority() {
  constexpr int kNiceness = 10;
  static_cast<void>(setpriority(PRIO_PROCESS, 0, kNiceness));
}

// Of this thread so far. Unlike elapsed time, it does not count what others took.
inline double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_THIS_THREAD_H_
