// SPDX-License-Identifier: Apache-2.0
//
// SpinTeam: one leader thread and workers that busy-wait for its many short parallel steps, such as
// the evaluations of one scan. Starting a step takes less than a microsecond, waking a sleeping
// thread tens of them; in return the workers occupy their processors all the time, so a team is for
// work of milliseconds.
//
// A step does not wait for a worker that is late or preempted: the other threads run its indices,
// and it joins when it is back.

#ifndef VOXLOC_CORE_PARALLEL_SPIN_TEAM_H_
#define VOXLOC_CORE_PARALLEL_SPIN_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {

// Polls, some tens of microseconds of them, before the thread yields its processor.
constexpr int kMaxSpins = 1000;

// Backoff of a loop that polls another thread or a device. `spins` counts the polls so far, from 0.
// Thread-safe.
inline void SpinPause(int* spins) {
  if (*spins == kMaxSpins) {
    std::this_thread::yield();
    return;
  }
  ++*spins;
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class SpinTeam {
 public:
  // Calls lead(team) once, on the caller's thread or one of the pool's, while threads - 1 others
  // are its workers. Returns when it has returned; rethrows its exception. `pool` null: no workers.
  static void Run(ThreadPool* pool, size_t threads, absl::FunctionRef<void(SpinTeam&)> lead);

  SpinTeam(const SpinTeam&) = delete;
  SpinTeam& operator=(const SpinTeam&) = delete;

  // The maximum number of threads, the leader included.
  [[nodiscard]] size_t threads() const { return threads_; }

  // For the leader. Calls body(i) once for each i in [0, count), at most 65,535, in no particular
  // order; returns when all are done. When calls throw, the others are still made, and one of the
  // exceptions is rethrown.
  void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body);

 private:
  using Body = absl::FunctionRef<void(size_t)>;

  explicit SpinTeam(size_t threads) : threads_(threads) {}

  void WorkerLoop();
  // Runs indices of the step until none is left.
  void RunIndices();

  const size_t threads_;
  // step number (32 bits) | index count (16) | next index (16)
  std::atomic<uint64_t> step_{0};
  std::atomic<size_t> done_{0};  // completed indices of the step
  std::atomic<bool> ended_{false};
  // Written before step_, and read only by threads that run an index, for which the leader waits.
  const Body* body_ = nullptr;
  absl::Mutex mutex_;
  std::exception_ptr error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_SPIN_TEAM_H_
