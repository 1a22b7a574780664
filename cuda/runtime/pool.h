// SPDX-License-Identifier: Apache-2.0
//
// Pool: workspaces of calls that run at the same time, at most so many. Made when first needed,
// kept for their memory. Thread-safe; a caller that finds all of them taken waits.

#ifndef VOXLOC_CUDA_RUNTIME_POOL_H_
#define VOXLOC_CUDA_RUNTIME_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

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
        : pool_(std::exchange(other.pool_, nullptr)), workspace_(std::move(other.workspace_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->Return(std::move(workspace_));
    }
    // Ends the workspace: it is not to be used again, and its memory is wanted back.
    void Discard() { workspace_ = nullptr; }
    T* operator->() const { return workspace_.get(); }
    T& operator*() const { return *workspace_; }

   private:
    Pool* pool_;
    std::unique_ptr<T> workspace_;
  };

  Pool(size_t limit, Factory make) : free_(limit), make_(std::move(make)) {}

  // The factory's error where a new workspace was needed and could not be made.
  [[nodiscard]] absl::StatusOr<Lease> Take() {
    std::unique_ptr<T> workspace;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](size_t* free) { return *free > 0; }, &free_));
      --free_;
      if (!idle_.empty()) {
        workspace = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (workspace == nullptr) {
      absl::StatusOr<std::unique_ptr<T>> made = make_();
      if (!made.ok()) {
        absl::MutexLock lock(&mutex_);
        ++free_;
        return made.status();
      }
      workspace = *std::move(made);
    }
    return Lease(this, std::move(workspace));
  }

 private:
  void Return(std::unique_ptr<T> workspace) {
    absl::MutexLock lock(&mutex_);
    ++free_;
    if (workspace != nullptr) idle_.push_back(std::move(workspace));
  }

  absl::Mutex mutex_;
  size_t free_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<T>> idle_ ABSL_GUARDED_BY(mutex_);
  const Factory make_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_POOL_H_
