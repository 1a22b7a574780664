// SPDX-License-Identifier: Apache-2.0
//
// Limits: Admission on the number of holders; ByteBudget and ByteQuota on the bytes that holders
// keep in memory, of which the first only counts them and reports whether the limit is exceeded,
// and the second lets holders wait until they fit. Thread-safe.

#ifndef VOXLOC_SERVER_SCHEDULING_LIMITS_H_
#define VOXLOC_SERVER_SCHEDULING_LIMITS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

// A counting semaphore without waiting. A Pass holds one of `limit` places and releases it when
// destroyed. The Admission must outlive its passes.
class Admission {
 public:
  struct Leave {
    void operator()(Admission* admission) const { admission->inside_.fetch_sub(1); }
  };
  using Pass = std::unique_ptr<Admission, Leave>;

  explicit Admission(uint32_t limit) : limit_(limit) {}

  // Null at the limit.
  [[nodiscard]] Pass Enter() {
    Pass pass(inside_.fetch_add(1) < limit_ ? this : nullptr);
    if (pass == nullptr) inside_.fetch_sub(1);
    return pass;
  }

  [[nodiscard]] uint32_t limit() const { return limit_; }
  // Passes that were given stay valid, also beyond a lower limit.
  void set_limit(uint32_t limit) { limit_ = limit; }

 private:
  std::atomic<uint32_t> limit_;
  std::atomic<uint32_t> inside_{0};
};

// Holders check exhausted() before they take more. Add never fails: bytes beyond the limit are
// counted too.
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
  // Removes bytes that were added before.
  void Remove(size_t bytes) {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    gauge_.Add(-static_cast<double>(bytes));
  }

  // Whether more than the limit is held.
  [[nodiscard]] bool exhausted() const {
    return held_.load(std::memory_order_relaxed) > limit_.load(std::memory_order_relaxed);
  }
  void set_limit(uint64_t limit) { limit_.store(limit, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> limit_;
  const Gauge gauge_;
  std::atomic<uint64_t> held_{0};
};

// Requests are granted in FIFO order. A request for more than the limit is granted when nothing
// else is held. The ByteQuota must outlive its shares.
class ByteQuota {
 public:
  // Called on any thread, without a lock, when a request is granted after a wait. May run
  // concurrently with the destruction of its share.
  using GrantCallback = std::function<void()>;

  // The share of one holder.
  class Reservation {
   public:
    Reservation(ByteQuota& quota, GrantCallback granted)
        : quota_(quota), granted_(std::move(granted)) {}
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() { Release(); }

    // Replaces what is held or requested. True: granted at once, as always where no more is
    // requested than is held. False: the callback is called once it is granted.
    [[nodiscard]] bool Request(uint64_t bytes);
    // Releases what is held and cancels a pending request.
    void Release();

   private:
    friend class ByteQuota;
    ByteQuota& quota_;
    const GrantCallback granted_;
    uint64_t bytes_ = 0;    // guarded by the quota's lock, as is the next
    bool waiting_ = false;  // for them
  };

  // `held` shows the bytes that are held.
  ByteQuota(uint64_t limit, Gauge held) : gauge_(held), limit_(limit) {}
  ByteQuota(const ByteQuota&) = delete;
  ByteQuota& operator=(const ByteQuota&) = delete;

  void set_limit(uint64_t limit);

 private:
  [[nodiscard]] bool HasCapacity(uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return held_ == 0 || (held_ <= limit_ && bytes <= limit_ - held_);
  }
  void Grant(Reservation& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Return(Reservation& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Grants the requests for which there is room, in their order.
  [[nodiscard]] std::vector<GrantCallback> GrantLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Gauge gauge_;
  absl::Mutex mutex_;
  uint64_t limit_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Reservation*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_LIMITS_H_
