// SPDX-License-Identifier: Apache-2.0
//
// PageLockedPool: page-locked host memory in blocks, taken and given back by any thread. Allocating
// page-locked memory takes the driver a fraction of a millisecond, so blocks come from slabs that
// are kept until the pool is destroyed. Every device of the process reads the blocks in place, at
// their host addresses (unified addressing, CUDA C++ Programming Guide).
//
// Thread-safe. Beyond its limit, and where page-locked memory cannot be had, a block is ordinary
// memory, and the device counts it.

#ifndef VOXLOC_CUDA_RUNTIME_PAGE_LOCKED_POOL_H_
#define VOXLOC_CUDA_RUNTIME_PAGE_LOCKED_POOL_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

class PageLockedPool : public std::enable_shared_from_this<PageLockedPool> {
 public:
  // Blocks are aligned to this.
  static constexpr size_t kAlignment = 256;
  // Larger ones, of scans of more than 300,000 points, are ordinary memory: copying them costs
  // little beside the rest that is done with so many points.
  static constexpr size_t kLargestBlock = size_t{4} << 20;

  // Memory until it is destroyed; keeps its pool alive.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(data_, other.data_);
      std::swap(size_class_, other.size_class_);
      std::swap(page_locked_, other.page_locked_);
      return *this;
    }
    ~Block();

    [[nodiscard]] std::byte* data() const { return data_; }
    // Whether devices can read it.
    [[nodiscard]] bool page_locked() const { return page_locked_; }

   private:
    friend class PageLockedPool;
    std::shared_ptr<PageLockedPool> pool_;
    std::byte* data_ = nullptr;
    size_t size_class_ = 0;
    bool page_locked_ = false;
  };

  // Holds at most so much page-locked memory.
  PageLockedPool(std::shared_ptr<Device> device, size_t limit_bytes)
      : device_(std::move(device)), limit_bytes_(limit_bytes) {}
  PageLockedPool(const PageLockedPool&) = delete;
  PageLockedPool& operator=(const PageLockedPool&) = delete;
  ~PageLockedPool();

  // Throws std::bad_alloc where ordinary memory runs out too.
  [[nodiscard]] Block Take(size_t bytes);

 private:
  // Sizes of blocks: four to each doubling, from the smallest to the largest block.
  static constexpr size_t kSmallestBlock = size_t{4} << 10;
  static constexpr size_t kSizesPerDoubling = 4;
  static constexpr size_t kSizeClasses = 10 * kSizesPerDoubling + 1;
  [[nodiscard]] static size_t SizeClassOf(size_t bytes);
  [[nodiscard]] static size_t BytesOf(size_t size_class);

  // A block of the class; null where there is none, and no more page-locked memory.
  [[nodiscard]] std::byte* TakePageLocked(size_t size_class);
  void Return(std::byte* block, size_t size_class);
  [[nodiscard]] bool AddSlab(size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<Device> device_;
  const size_t limit_bytes_;
  absl::Mutex mutex_;
  std::array<std::vector<std::byte*>, kSizeClasses> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<void*> slabs_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of the slabs
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_PAGE_LOCKED_POOL_H_
