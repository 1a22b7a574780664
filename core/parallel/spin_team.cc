// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/spin_team.h"

#include <utility>

namespace voxloc {
namespace {

constexpr uint64_t kIndexBits = 16;
constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;

bool HasIndex(uint64_t step) { return (step & kIndexMask) < (step >> kIndexBits & kIndexMask); }

}  // namespace

void SpinTeam::Run(ThreadPool* pool, size_t threads, absl::FunctionRef<void(SpinTeam&)> lead) {
  if (pool == nullptr || threads <= 1) {
    SpinTeam alone(1);
    lead(alone);
    return;
  }
  struct End {
    explicit End(SpinTeam& a_team) : team(a_team) {}
    ~End() { team.ended_.store(true, std::memory_order_release); }
    SpinTeam& team;
  };
  SpinTeam team(threads);
  pool->ParallelFor(threads, [&](size_t i) {
    if (i > 0) {
      team.WorkerLoop();
      return;
    }
    const End end(team);
    lead(team);
  });
}

void SpinTeam::ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body) {
  if (threads_ <= 1 || count <= 1) {
    for (size_t i = 0; i < count; ++i) body(i);
    return;
  }
  body_ = &body;
  done_.store(0, std::memory_order_relaxed);
  const uint64_t number = (step_.load(std::memory_order_relaxed) >> (2 * kIndexBits)) + 1;
  step_.store(number << (2 * kIndexBits) | uint64_t{count} << kIndexBits,
              std::memory_order_release);
  RunIndices();
  for (int spins = 0; done_.load(std::memory_order_acquire) < count;) SpinPause(&spins);
  absl::MutexLock lock(&mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void SpinTeam::RunIndices() {
  uint64_t step = step_.load(std::memory_order_acquire);
  while (HasIndex(step)) {
    if (!step_.compare_exchange_weak(step, step + 1, std::memory_order_acq_rel)) continue;
    try {
      (*body_)(static_cast<size_t>(step & kIndexMask));
    } catch (...) {
      absl::MutexLock lock(&mutex_);
      error_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_release);
    step = step_.load(std::memory_order_acquire);
  }
}

void SpinTeam::WorkerLoop() {
  for (int spins = 0; !ended_.load(std::memory_order_acquire);) {
    if (HasIndex(step_.load(std::memory_order_relaxed))) {
      RunIndices();
      spins = 0;
    } else {
      SpinPause(&spins);
    }
  }
}

}  // namespace voxloc
