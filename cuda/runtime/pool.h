// SPDX-License-Identifier: Apache-2.0
//
// Pool: workspaces of calls that run at the same time, at most so many. Made when first needed,
// kept for their memory; those that the calls of late did not need at the same time are destroyed.
// Thread-safe; a caller that finds all of them taken waits.
//
// T has `void Drain() noexcept`, which waits for all work that it has queued. It is called when a
// lease ends, however it ends, so that no work is left that uses what the caller may now free. A
// lease that ends by an exception ends its workspace too, which may be half filled.

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
#include "cuda/runtime/retention.h"

namespace voxloc::cuda {

template <typename T>
class Pool {
 public:
  using Factory = std::function<absl::StatusOr<std::unique_ptr<T>>()>;

  // A workspace for as long as this lives; it goes back then.
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
      pool_->Return(std::move(workspace_));
    }
    // Ends the workspace: it is not to be used again, and its memory is wanted back.
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
    int exceptions_ = std::uncaught_exceptions();  // under way when the lease began
  };

  Pool(size_t limit, Factory make) : limit_(limit), free_(limit), make_(std::move(make)) {
    idle_.reserve(limit);
  }

  // The factory's error where a new workspace was needed and could not be made.
  [[nodiscard]] absl::StatusOr<Lease> Take() {
    std::unique_ptr<T> workspace;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](size_t* free) { return *free > 0; },  // NOLINT(readability-non-const-parameter)
          &free_));
      --free_;
      taken_.Note(limit_ - free_);
      if (!idle_.empty()) {
        workspace = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    // The place in the pool is given back whatever happens from here on.
    Lease lease(this, std::move(workspace));
    if (lease.workspace_ == nullptr) {
      absl::StatusOr<std::unique_ptr<T>> made = make_();
      if (!made.ok()) return made.status();
      lease.workspace_ = *std::move(made);
    }
    return lease;
  }

  // Workspaces that no call has at the moment.
  [[nodiscard]] size_t idle() const {
    absl::MutexLock lock(&mutex_);
    return idle_.size();
  }

 private:
  void Return(std::unique_ptr<T> workspace) {
    std::unique_ptr<T> superfluous;  // destroyed outside the lock
    absl::MutexLock lock(&mutex_);
    ++free_;
    if (workspace != nullptr) idle_.push_back(std::move(workspace));
    // The one at the front has been idle for longest.
    if (!idle_.empty() && limit_ - free_ + idle_.size() > taken_.value()) {
      superfluous = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
  }

  const size_t limit_;
  mutable absl::Mutex mutex_;
  size_t free_ ABSL_GUARDED_BY(mutex_);
  RecentPeak taken_ ABSL_GUARDED_BY(mutex_);  // how many had a lease at the same time
  std::vector<std::unique_ptr<T>> idle_ ABSL_GUARDED_BY(mutex_);
  const Factory make_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_POOL_H_
