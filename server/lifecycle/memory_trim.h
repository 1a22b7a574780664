// SPDX-License-Identifier: Apache-2.0
//
// MemoryTrim: has the memory that floods of calls leave given back to the system. glibc keeps what
// is freed below a piece that is in use: 50 to 100 MB of 10,000 calls that are cancelled at once,
// and up to 220 MB of five such floods, until it is told to give back whole pages. That locks its
// heaps, so it waits until the flood is over. On the thread of a TimeoutWatch.

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
  // So many calls that end between two looks are a flood: each leaves 5 to 10 kB. It is over where
  // less than a tenth of them end, so that a load that varies about a flood is no series of them.
  static constexpr int64_t kFlood = 1000;

  // `calls` must outlive this. `trim` is called once after each flood, at the first look that sees
  // its end, and must be short. Where it returns false it is called again at the next.
  MemoryTrim(const ActiveCalls& calls, std::function<bool()> trim)
      : calls_(calls), trim_(std::move(trim)) {}

  TimeoutWatch::Clock::time_point CheckTime(TimeoutWatch::Clock::time_point now) override;

 private:
  const ActiveCalls& calls_;
  const std::function<bool()> trim_;
  int64_t seen_ = 0;
  bool flood_ = false;
};

// Gives every whole page that the process' heaps do not use back; nothing where the C library is
// not glibc. Takes some milliseconds for each 100 MB that is free. Thread-safe.
void ReturnFreedMemory();

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_MEMORY_TRIM_H_
