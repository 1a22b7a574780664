// SPDX-License-Identifier: Apache-2.0
//
// Pause: between two looks at what another thread, or a device, is to do. Thread-safe.

#ifndef VOXLOC_CORE_PARALLEL_PAUSE_H_
#define VOXLOC_CORE_PARALLEL_PAUSE_H_

#include <thread>

namespace voxloc {

// Looks in a row before the processor is offered to others, in case they are what is waited for:
// some tens of microseconds.
constexpr int kLooks = 1000;

// `looks` counts those so far, from 0.
inline void Pause(int* looks) {
  if (*looks == kLooks) {
    std::this_thread::yield();
    return;
  }
  ++*looks;
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_PAUSE_H_
