// SPDX-License-Identifier: Apache-2.0
//
// ByteBudget: what may be held in all by many holders who each ask before they take more. Nobody is
// refused: what is under way when the budget is spent is counted all the same. Thread-safe.

#ifndef VOXLOC_SERVER_SCHEDULING_BYTE_BUDGET_H_
#define VOXLOC_SERVER_SCHEDULING_BYTE_BUDGET_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_BYTE_BUDGET_H_
