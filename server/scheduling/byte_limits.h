// SPDX-License-Identifier: Apache-2.0
//
// Limits of the bytes that many holders have in memory at once: ByteBudget counts them, and says
// whether they are too many; with ByteShares holders wait until there is room. Thread-safe.

#ifndef VOXLOC_SERVER_SCHEDULING_BYTE_LIMITS_H_
#define VOXLOC_SERVER_SCHEDULING_BYTE_LIMITS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

// Holders look at it before they take more. Nobody is refused: what is under way when the budget is
// spent is counted all the same.
class ByteBudget {
 public:
  // `held` shows the bytes that are held.
  ByteBudget(uint64_t limit, Gauge held) : limit_(limit), gauge_(held) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  void Add(size_t bytes) {
    held_.fetch_add(bytes, std::memory_order_relaxed);
    gauge_.Add(static_cast<double>(bytes));
  }
  // As many as were added before.
  void Remove(size_t bytes) {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    gauge_.Add(-static_cast<double>(bytes));
  }

  // Whether more than the limit is held.
  [[nodiscard]] bool spent() const {
    return held_.load(std::memory_order_relaxed) > limit_.load(std::memory_order_relaxed);
  }
  void set_limit(uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> limit_;
  const Gauge gauge_;
  std::atomic<uint64_t> held_{0};
};

// Holders request bytes before they take them, and are granted them in the order of their requests.
// A request for more than the limit is granted while nothing else is held. The ByteShares must
// outlive its shares.
class ByteShares {
 public:
  // Called on any thread, without a lock, when a request is granted after a wait; once more perhaps
  // while its share is destroyed.
  using Granted = std::function<void()>;

  // Of one holder.
  class Share {
   public:
    Share(ByteShares& shares, Granted granted);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { Release(); }

    // In place of what is held or awaited, which may be the same. Whether it is held now; if not,
    // it will be. A holder of as much already holds it without a wait.
    [[nodiscard]] bool Request(uint64_t bytes);
    // Holds nothing, and awaits nothing.
    void Release();

   private:
    friend class ByteShares;
    ByteShares& shares_;
    const Granted granted_;
    uint64_t bytes_ = 0;    // with its ByteShares' lock, as is the next
    bool waiting_ = false;  // for them
  };

  // `held` shows the bytes that are held.
  ByteShares(uint64_t limit, Gauge held) : gauge_(held), limit_(limit) {}
  ByteShares(const ByteShares&) = delete;
  ByteShares& operator=(const ByteShares&) = delete;

  void set_limit(uint64_t limit);

 private:
  [[nodiscard]] bool Fits(uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return held_ == 0 || (held_ <= limit_ && bytes <= limit_ - held_);
  }
  void Hold(Share& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(Share& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Grants the requests for which there is room, in their order.
  [[nodiscard]] std::vector<Granted> GrantLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Gauge gauge_;
  absl::Mutex mutex_;
  uint64_t limit_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Share*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_BYTE_LIMITS_H_
