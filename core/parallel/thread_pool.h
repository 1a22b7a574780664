// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: runs the same function over a range of indices, on the caller's thread and the
// pool's. Several callers may use it at once; each waits for its own range only, and works on it
// itself. The pool's threads alternate between the ranges, index by index, so that a long range
// leaves a short one its share. Idle threads sleep. Functions may throw; they may not call
// ParallelFor of the same pool.

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
  // `threads` in all, the caller's among them; at least 1. Fewer where the system refuses more.
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] size_t threads() const { return workers_.size() + 1; }

  // Calls body(i) once for each i in [0, count), in no particular order; returns when all are done.
  // When a call throws, indices that no thread has begun are left out, and the first exception is
  // rethrown here once no thread uses `body` any more.
  void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body);

 private:
  struct Range;

  void Work();
  // Until none is left or, where `sharing`, another range is there too.
  void TakeIndices(Range& range, bool sharing);
  void Remove(const Range& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  // The callers' stacks own them. The next to be helped is the first.
  std::vector<Range*> ranges_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> range_count_{0};  // of ranges_, to be looked at without the lock
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

// By the threads of a ThreadPool or a SpinTeam, or on the caller's alone where `threads` is null.
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
