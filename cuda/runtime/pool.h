// SPDX-License-Identifier: Apache-2.0
//
// Pool: a bounded pool of workspaces for concurrent calls. They are made on demand and kept for
// reuse; those beyond the recent peak of concurrent leases are destroyed. Thread-safe; callers wait
// while all workspaces are leased.
//
// T has `void Drain() noexcept`, which waits for all work that it has queued. It is called at the
// end of every lease, so that no queued work uses memory that the caller may now free. A lease that
// ends by an exception destroys its workspace, which may be in an inconsistent state.

#ifndef VOXLOC_CUDA_RUNTIME_POOL_H_
#define VOXLOC_CUDA_RUNTIME_POOL_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cuda/runtime/buffer.h"

namespace voxloc::cuda {

template <typename T>
class Pool {
 public:
  using Factory = std::function<absl::StatusOr<std::unique_ptr<T>>()>;

  // Owns a workspace, and returns it to the pool when destroyed.
  class Lease {
   public:
    Lease(Pool* pool, std::unique_ptr<T> workspace)
        : pool_(pool), workspace_(std::move(workspace)) {}
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          workspace_(std::move(other.workspace_)),
          exceptions_(other.exceptions_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ == nullptr) return;
      if (workspace_ != nullptr) workspace_->Drain();
      if (std::uncaught_exceptions() > exceptions_) workspace_ = nullptr;
      pool_->Release(std::move(workspace_));
    }
    // Destroys the workspace instead of reusing it, to free its memory.
    void Discard() {
      if (workspace_ != nullptr) workspace_->Drain();
      workspace_ = nullptr;
    }
    T* operator->() const { return workspace_.get(); }
    T& operator*() const { return *workspace_; }

   private:
    friend class Pool;
    Pool* pool_;
    std::unique_ptr<T> workspace_;
    int exceptions_ = std::uncaught_exceptions();  // when the lease began
  };

  Pool(size_t limit, Factory make) : limit_(limit), free_(limit), make_(std::move(make)) {
    idle_.reserve(limit);
  }

  // The factory's error where a new workspace was needed and could not be made.
  [[nodiscard]] absl::StatusOr<Lease> Acquire() {
    std::unique_ptr<T> workspace;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](size_t* free) { return *free > 0; },  // NOLINT(readability-non-const-parameter)
          &free_));
      --free_;
      peak_leases_.Add(limit_ - free_);
      if (!idle_.empty()) {
        workspace = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    // From here on the lease returns the slot whatever happens.
    Lease lease(this, std::move(workspace));
    if (lease.workspace_ == nullptr) {
      absl::StatusOr<std::unique_ptr<T>> made = make_();
      if (!made.ok()) return made.status();
      lease.workspace_ = *std::move(made);
    }
    return lease;
  }

  // The number of workspaces that are not leased.
  [[nodiscard]] size_t idle() const {
    absl::MutexLock lock(&mutex_);
    return idle_.size();
  }

 private:
  void Release(std::unique_ptr<T> workspace) {
    std::unique_ptr<T> evicted;  // destroyed outside the lock
    absl::MutexLock lock(&mutex_);
    ++free_;
    if (workspace != nullptr) idle_.push_back(std::move(workspace));
    // The front one has been idle longest.
    if (!idle_.empty() && limit_ - free_ + idle_.size() > peak_leases_.value()) {
      evicted = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
  }

  const size_t limit_;
  mutable absl::Mutex mutex_;
  size_t free_ ABSL_GUARDED_BY(mutex_);
  RecentPeak peak_leases_ ABSL_GUARDED_BY(mutex_);  // how many had a lease at the same time
  std::vector<std::unique_ptr<T>> idle_ ABSL_GUARDED_BY(mutex_);
  const Factory make_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_POOL_H_
