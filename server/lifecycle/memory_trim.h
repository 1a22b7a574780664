// SPDX-License-Identifier: Apache-2.0
//
// MemoryTrim: has the memory that floods of calls leave given back to the system. glibc keeps what
// is freed below a piece that is in use: of 10,000 calls that are cancelled at once up to 220 MB,
// until it is told to give back whole pages. That locks its heaps for some milliseconds, so it
// waits until the flood is over. On the thread of a TimeoutWatch.

#ifndef VOXLOC_SERVER_LIFECYCLE_MEMORY_TRIM_H_
#define VOXLOC_SERVER_LIFECYCLE_MEMORY_TRIM_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "server/lifecycle/active_calls.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class MemoryTrim : public TimeoutWatch::Watched {
 public:
  // So many calls that end between two looks are a flood: each leaves 5 to 20 kB.
  static constexpr int64_t kFlood = 1000;

  // `calls` must outlive this. `trim` is called once after each flood, at the first look that sees
  // none, and must be short.
  MemoryTrim(const ActiveCalls& calls, std::function<void()> trim)
      : calls_(calls), trim_(std::move(trim)) {}

  TimeoutWatch::Clock::time_point CheckTime(TimeoutWatch::Clock::time_point now) override;

 private:
  const ActiveCalls& calls_;
  const std::function<void()> trim_;
  int64_t seen_ = 0;
  bool flood_ = false;
};

// Gives every whole page that the process' heaps do not use back; nothing where the C library is
// not glibc. Takes some milliseconds for each 100 MB. Thread-safe.
void ReturnFreedMemory();

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_MEMORY_TRIM_H_
