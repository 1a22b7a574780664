// SPDX-License-Identifier: Apache-2.0
//
// PageLockedPool: blocks of page-locked host memory for all threads. Allocating
// page-locked memory takes the driver a fraction of a millisecond, so blocks come from slabs that
// are kept until the pool is destroyed. Every device of the process reads the blocks in place, at
// their host addresses (unified addressing, CUDA C++ Programming Guide).
//
// Thread-safe. There are several free lists, and each thread prefers one of them, so that threads
// that pack scans do not contend for one lock. Beyond the limit, or without page-locked memory,
// blocks are pageable memory, and the device counts them.

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

class PageLockedPool {
 public:
  // Blocks are aligned to this.
  static constexpr size_t kAlignment = 256;
  // Larger ones, of scans of more than 300,000 points, are ordinary memory: copying them costs
  // little beside the rest that is done with so many points.
  static constexpr size_t kMaxBlockBytes = size_t{4} << 20;

 private:
  // Sizes of blocks: four to each doubling, from the smallest to the largest block.
  static constexpr size_t kMinBlockBytes = size_t{4} << 10;
  static constexpr size_t kSizesPerDoubling = 4;
  static constexpr size_t kSizeClasses = 10 * kSizesPerDoubling + 1;
  [[nodiscard]] static size_t SizeClassOf(size_t bytes);
  [[nodiscard]] static size_t BytesOf(size_t size_class);

  // Memory from the driver, freed with the last free list.
  class Slabs {
   public:
    Slabs(std::shared_ptr<Device> device, size_t limit_bytes)
        : device_(std::move(device)), limit_bytes_(limit_bytes) {}
    ~Slabs();
    [[nodiscard]] Device& device() const { return *device_; }
    // Page-locked memory, aligned to pages; null where there is no more.
    [[nodiscard]] std::byte* Add(size_t bytes);

   private:
    const std::shared_ptr<Device> device_;
    const size_t limit_bytes_;
    absl::Mutex mutex_;
    std::vector<void*> slabs_ ABSL_GUARDED_BY(mutex_);
    size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  };

  // Free blocks, one linked list per size class; the link is in the block. Aligned to cache lines
  // against false sharing.
  class alignas(64) FreeList {
   public:
    explicit FreeList(std::shared_ptr<Slabs> slabs) : slabs_(std::move(slabs)) {}
    // Null where there is none.
    [[nodiscard]] std::byte* Acquire(size_t size_class);
    void Release(std::byte* block, size_t size_class);
    // Makes blocks of a new slab and takes one; null where there is no more memory.
    [[nodiscard]] std::byte* AcquireFromNewSlab(size_t size_class);

   private:
    const std::shared_ptr<Slabs> slabs_;
    absl::Mutex mutex_;
    std::array<std::byte*, kSizeClasses> first_ ABSL_GUARDED_BY(mutex_) = {};
  };

 public:
  // Owns its memory, also beyond the lifetime of the pool.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept {
      std::swap(free_list_, other.free_list_);
      std::swap(data_, other.data_);
      std::swap(size_class_, other.size_class_);
      return *this;
    }
    ~Block();

    [[nodiscard]] std::byte* data() const { return data_; }
    // Whether devices can read it.
    [[nodiscard]] bool page_locked() const { return free_list_ != nullptr; }

   private:
    friend class PageLockedPool;
    std::shared_ptr<FreeList> free_list_;  // null: ordinary memory
    std::byte* data_ = nullptr;
    size_t size_class_ = 0;
  };

  // Holds at most so much page-locked memory.
  PageLockedPool(std::shared_ptr<Device> device, size_t limit_bytes);
  PageLockedPool(const PageLockedPool&) = delete;
  PageLockedPool& operator=(const PageLockedPool&) = delete;

  // Throws std::bad_alloc where ordinary memory runs out too.
  [[nodiscard]] Block Acquire(size_t bytes);

 private:
  static constexpr size_t kFreeLists = 16;  // the number of packing threads in the benchmark

  // A block of the class from this thread's list, another list or a new slab; null if there is
  // none.
  [[nodiscard]] std::byte* AcquirePageLocked(size_t size_class, size_t own_list);

  const std::shared_ptr<Slabs> slabs_;
  std::array<std::shared_ptr<FreeList>, kFreeLists> free_lists_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_PAGE_LOCKED_POOL_H_
