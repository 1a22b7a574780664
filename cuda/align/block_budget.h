// SPDX-License-Identifier: Apache-2.0
//
// BlockBudget: how many blocks several launches may have on the device at once. Thread-safe.

#ifndef VOXLOC_CUDA_ALIGN_BLOCK_BUDGET_H_
#define VOXLOC_CUDA_ALIGN_BLOCK_BUDGET_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::cuda {

class BlockBudget : public std::enable_shared_from_this<BlockBudget> {
 public:
  // Blocks of the budget, released by the destructor.
  class Reservation {
   public:
    Reservation(std::shared_ptr<BlockBudget> budget, int blocks)
        : budget_(std::move(budget)), blocks_(blocks) {}
    Reservation(Reservation&& other) noexcept
        : budget_(std::move(other.budget_)), blocks_(other.blocks_) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(blocks_, other.blocks_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->Release(blocks_);
    }

   private:
    std::shared_ptr<BlockBudget> budget_;
    int blocks_;
  };

  // The budget in blocks of BlockSize::kSmall; at least one.
  explicit BlockBudget(int blocks) : blocks_(blocks), free_(blocks) {}

  [[nodiscard]] int blocks() const { return blocks_; }

  // nullopt: not enough blocks are free, or another caller waits. Demands are capped at blocks().
  [[nodiscard]] std::optional<Reservation> TryAcquire(int blocks);
  // Waits for the blocks. The caller must hold no share, or two callers could deadlock.
  [[nodiscard]] Reservation Acquire(int blocks);

 private:
  void Release(int blocks);

  const int blocks_;
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // callers of Acquire
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_BLOCK_BUDGET_H_
