// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/block_budget.h"

#include <algorithm>

namespace voxloc::cuda {

std::optional<BlockBudget::Reservation> BlockBudget::TryAcquire(int blocks) {
  blocks = std::min(blocks, blocks_);
  const absl::MutexLock lock(&mutex_);
  if (blocks > free_ || waiting_ > 0) return std::nullopt;
  free_ -= blocks;
  return Reservation(shared_from_this(), blocks);
}

BlockBudget::Reservation BlockBudget::Acquire(int blocks) {
  blocks = std::min(blocks, blocks_);
  const auto is_free = [this, blocks]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return blocks <= free_; };
  const absl::MutexLock lock(&mutex_);
  ++waiting_;
  mutex_.Await(absl::Condition(&is_free));
  --waiting_;
  free_ -= blocks;
  return {shared_from_this(), blocks};
}

void BlockBudget::Release(int blocks) {
  const absl::MutexLock lock(&mutex_);
  free_ += blocks;
}

}  // namespace voxloc::cuda
