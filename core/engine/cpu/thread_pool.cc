// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/thread_pool.h"

#include <algorithm>
#include <utility>

namespace voxloc::cpu {

struct ThreadPool::Range {
  Range(size_t size, absl::FunctionRef<void(size_t)> function) : count(size), body(function) {}

  const size_t count;
  const absl::FunctionRef<void(size_t)> body;  // valid until `finished` reaches `count`
  std::atomic<size_t> next{0};
  absl::Mutex mutex;
  size_t finished ABSL_GUARDED_BY(mutex) = 0;
};

ThreadPool::ThreadPool(size_t threads) {
  for (size_t i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::TakeIndices(Range& range, bool sharing) const {
  size_t done = 0;
  do {
    const size_t i = range.next.fetch_add(1, std::memory_order_relaxed);
    if (i >= range.count) break;
    range.body(i);
    ++done;
  } while (!sharing || range_count_.load(std::memory_order_relaxed) <= 1);
  if (done == 0) return;
  absl::MutexLock lock(&range.mutex);
  range.finished += done;
}

void ThreadPool::ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body) {
  if (workers_.empty() || count <= 1) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  const auto range = std::make_shared<Range>(count, body);
  {
    absl::MutexLock lock(&mutex_);
    ranges_.push_back(range);
    range_count_.store(ranges_.size(), std::memory_order_relaxed);
  }
  TakeIndices(*range, /*sharing=*/false);
  {
    absl::MutexLock lock(&mutex_);
    const auto it = std::find(ranges_.begin(), ranges_.end(), range);
    if (it != ranges_.end()) ranges_.erase(it);
    range_count_.store(ranges_.size(), std::memory_order_relaxed);
  }
  absl::MutexLock lock(&range->mutex);
  const auto all_finished = [&range]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(range->mutex) {
    return range->finished == range->count;
  };
  range->mutex.Await(absl::Condition(&all_finished));
}

void ThreadPool::Work() {
  for (;;) {
    std::shared_ptr<Range> range;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !ranges_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (ranges_.empty()) return;
      range = std::move(ranges_.front());
      ranges_.pop_front();
      // A range whose indices are all taken leaves the queue; another goes to its end.
      const bool exhausted = range->next.load(std::memory_order_relaxed) >= range->count;
      if (!exhausted) ranges_.push_back(range);
      range_count_.store(ranges_.size(), std::memory_order_relaxed);
      if (exhausted) continue;
    }
    TakeIndices(*range, /*sharing=*/true);
  }
}

}  // namespace voxloc::cpu
