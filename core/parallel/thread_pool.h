// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: runs one function over a range of indices, on the caller's thread and the pool's.
// Several callers may use it at once; each waits for its own range only, and works on it itself.
// The pool's threads serve the ranges round-robin, index by index, so that a long range does not
// starve a short one. Idle threads sleep. Functions may throw; they must not call ParallelFor of
// the same pool.

#ifndef VOXLOC_CORE_PARALLEL_THREAD_POOL_H_
#define VOXLOC_CORE_PARALLEL_THREAD_POOL_H_

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace voxloc {

class ThreadPool {
 public:
  // `threads` includes the caller's; at least 1. Fewer if the system cannot create more.
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] size_t threads() const { return workers_.size() + 1; }

  // Calls body(i) once for each i in [0, count), in no particular order; returns when all are done.
  // When a call throws, indices that no thread has begun are skipped, and the first exception is
  // rethrown once all threads have left `body`.
  void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body);

 private:
  struct Range;

  void WorkerLoop();
  // Runs indices until none is left; with `sharing` also stops when there is another range.
  void RunIndices(Range& range, bool stop_if_shared);
  void Remove(const Range& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  // Owned by the callers' stacks. The first one gets the next free thread.
  std::vector<Range*> ranges_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> range_count_{0};  // ranges_.size(), readable without the lock
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

// As ThreadPool::ParallelFor or SpinTeam's; on the caller's thread alone if `threads` is null.
template <typename Threads>
void ParallelFor(Threads* threads, size_t count, absl::FunctionRef<void(size_t)> body) {
  if (threads != nullptr) {
    threads->ParallelFor(count, body);
  } else {
    for (size_t i = 0; i < count; ++i) body(i);
  }
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_THREAD_POOL_H_
