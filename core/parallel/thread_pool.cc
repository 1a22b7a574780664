// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/thread_pool.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace voxloc {

// One call of ParallelFor, on its caller's stack. Members that are neither const nor atomic are
// guarded by the pool's mutex.
struct ThreadPool::Range {
  Range(size_t size, absl::FunctionRef<void(size_t)> function) : count(size), body(function) {}

  const size_t count;
  const absl::FunctionRef<void(size_t)> body;
  std::atomic<size_t> next{0};  // indices from here on have not been taken
  size_t helpers = 0;           // threads of the pool that are at work on it
  std::exception_ptr error;     // the first one
};

ThreadPool::ThreadPool(size_t threads) {
  workers_.reserve(threads);
  for (size_t i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this] { WorkerLoop(); });
    } catch (const std::exception&) {  // no thread, or no memory for one
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunIndices(Range& range, bool stop_if_shared) {
  try {
    do {
      const size_t i = range.next.fetch_add(1, std::memory_order_relaxed);
      if (i >= range.count) return;
      range.body(i);
    } while (!stop_if_shared || range_count_.load(std::memory_order_relaxed) <= 1);
  } catch (...) {
    range.next.store(range.count, std::memory_order_relaxed);
    absl::MutexLock lock(&mutex_);
    if (!range.error) range.error = std::current_exception();
  }
}

void ThreadPool::Remove(const Range& range) {
  const auto it = std::find(ranges_.begin(), ranges_.end(), &range);
  if (it == ranges_.end()) return;
  ranges_.erase(it);
  range_count_.store(ranges_.size(), std::memory_order_relaxed);
}

void ThreadPool::ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body) {
  if (workers_.empty() || count <= 1) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Range range(count, body);
  try {
    absl::MutexLock lock(&mutex_);
    ranges_.push_back(&range);
    range_count_.store(ranges_.size(), std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    // The range was not published: this thread runs all of it.
  }
  RunIndices(range, /*sharing=*/false);
  {
    absl::MutexLock lock(&mutex_);
    Remove(range);
    // All indices are taken, and whoever still works on one is a helper.
    const auto no_helpers = [&range] { return range.helpers == 0; };
    mutex_.Await(absl::Condition(&no_helpers));
  }
  if (range.error) std::rethrow_exception(std::move(range.error));
}

void ThreadPool::WorkerLoop() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !ranges_.empty();
  };
  mutex_.Lock();
  for (;;) {
    mutex_.Await(absl::Condition(&has_work));
    if (ranges_.empty()) break;
    Range& range = *ranges_.front();
    ++range.helpers;
    std::rotate(ranges_.begin(), ranges_.begin() + 1, ranges_.end());
    mutex_.Unlock();
    RunIndices(range, /*sharing=*/true);
    mutex_.Lock();
    if (range.next.load(std::memory_order_relaxed) >= range.count) Remove(range);
    --range.helpers;
  }
  mutex_.Unlock();
}

}  // namespace voxloc
