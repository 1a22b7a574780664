// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: runs the same function over a range of indices, on the caller's thread and the pool's.
// Several callers may use it at once; each waits for its own range only. Functions must not throw and
// may not call ParallelFor of the same pool.

#ifndef VOXLOC_CORE_ENGINE_CPU_THREAD_POOL_H_
#define VOXLOC_CORE_ENGINE_CPU_THREAD_POOL_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::cpu {

class ThreadPool {
 public:
  // `threads` in all, the caller's among them; at least 1.
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] size_t threads() const { return workers_.size() + 1; }

  // Calls body(i) once for each i in [0, count), in no particular order; returns when all are done.
  void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body);

 private:
  struct Range;

  void Work();
  static void TakeIndices(Range& range);

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Range>> ranges_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_THREAD_POOL_H_
