// SPDX-License-Identifier: Apache-2.0
//
// MemoryTrim: returns freed memory to the system after a flood of calls. glibc keeps memory freed
// below a block in use until malloc_trim: 50 to 100 MB after 10,000 calls cancelled at once, up to
// 220 MB after five such floods. The trim locks the heaps, so it waits until the flood is over. On
// the thread of a TimeoutWatch.

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
  // A flood is this many calls that end between two polls: each leaves 5 to 10 kB. It is over when
  // fewer than a tenth of that end; the hysteresis keeps a load near the threshold one flood.
  static constexpr int64_t kFlood = 1000;

  // `calls` must outlive this. `trim` is called once after each flood, and again at the next poll
  // where it returns false. It must be short.
  MemoryTrim(const ActiveCalls& calls, std::function<bool()> trim)
      : calls_(calls), trim_(std::move(trim)) {}

  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

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
