// SPDX-License-Identifier: Apache-2.0
//
// SpinTeam: threads that stand by, awake, while one of them leads through many short steps, such as
// the evaluations of one scan. To share out a step takes less than a microsecond, where waking a
// thread takes tens; in return those who stand by use their processors all the time, so a team is
// for work of milliseconds.
//
// Nobody waits for a thread that is not there: who comes late, or was taken off its processor,
// takes part from then on, and the others do its share.

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

// Looks in a row before the processor is offered to others, in case they are what is waited for:
// some tens of microseconds.
constexpr int kLooks = 1000;

// Between two looks at what another thread, or a device, is to do; `looks` counts those so far,
// from 0. Thread-safe.
inline void Pause(int* looks) {
  if (*looks == kLooks) {
    std::this_thread::yield();
    return;
  }
  ++*looks;
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class SpinTeam {
 public:
  // Calls lead(team) once, on the caller's thread or one of the pool, while the others of `threads`
  // in all stand by. Returns when it has returned; rethrows what it throws. `pool` null: alone.
  static void Run(ThreadPool* pool, size_t threads, absl::FunctionRef<void(SpinTeam&)> lead);

  SpinTeam(const SpinTeam&) = delete;
  SpinTeam& operator=(const SpinTeam&) = delete;

  // At most so many take part.
  [[nodiscard]] size_t threads() const { return threads_; }

  // For the leader. Calls body(i) once for each i in [0, count), at most 65,535, in no particular
  // order; returns when all are done. When calls throw, the others are still made, and one of the
  // exceptions is rethrown.
  void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body);

 private:
  using Body = absl::FunctionRef<void(size_t)>;

  explicit SpinTeam(size_t threads) : threads_(threads) {}

  void StandBy();
  // Until every index of the step is taken.
  void TakeIndices();

  const size_t threads_;
  // Of the step: its number, its count, and the next index: 32, 16 and 16 bits.
  std::atomic<uint64_t> step_{0};
  std::atomic<size_t> done_{0};  // indices of the step
  std::atomic<bool> ended_{false};
  // Written before step_ is; read by those who have taken an index, for which the leader waits.
  const Body* body_ = nullptr;
  absl::Mutex mutex_;
  std::exception_ptr error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_SPIN_TEAM_H_
