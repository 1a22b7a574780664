// SPDX-License-Identifier: Apache-2.0
//
// PageLockedPool: page-locked host memory in blocks, taken and given back by any thread. Allocating
// page-locked memory takes the driver a fraction of a millisecond, so blocks come from slabs that
// are kept until the pool is destroyed. Every device of the process reads the blocks in place, at
// their host addresses (unified addressing, CUDA C++ Programming Guide).
//
// Thread-safe. Threads take from and return to shelves, of which each has its own: many that pack
// scans would otherwise wait for one lock and one counter. Beyond its limit, and where page-locked
// memory cannot be had, a block is ordinary memory, and the device counts it.

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
  static constexpr size_t kLargestBlock = size_t{4} << 20;

 private:
  // Sizes of blocks: four to each doubling, from the smallest to the largest block.
  static constexpr size_t kSmallestBlock = size_t{4} << 10;
  static constexpr size_t kSizesPerDoubling = 4;
  static constexpr size_t kSizeClasses = 10 * kSizesPerDoubling + 1;
  [[nodiscard]] static size_t SizeClassOf(size_t bytes);
  [[nodiscard]] static size_t BytesOf(size_t size_class);

  // What the driver gave: freed with the last shelf.
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

  // Free blocks. Each begins with the place of the next one, so that returning one needs no memory.
  // Shelves share no line of the caches.
  class alignas(64) Shelf {
   public:
    explicit Shelf(std::shared_ptr<Slabs> slabs) : slabs_(std::move(slabs)) {}
    // Null where there is none.
    [[nodiscard]] std::byte* Take(size_t size_class);
    void Return(std::byte* block, size_t size_class);
    // Makes blocks of a new slab and takes one; null where there is no more memory.
    [[nodiscard]] std::byte* TakeNew(size_t size_class);

   private:
    const std::shared_ptr<Slabs> slabs_;
    absl::Mutex mutex_;
    std::array<std::byte*, kSizeClasses> first_ ABSL_GUARDED_BY(mutex_) = {};
  };

 public:
  // Memory until it is destroyed; keeps it alive beyond its pool.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept {
      std::swap(shelf_, other.shelf_);
      std::swap(data_, other.data_);
      std::swap(size_class_, other.size_class_);
      return *this;
    }
    ~Block();

    [[nodiscard]] std::byte* data() const { return data_; }
    // Whether devices can read it.
    [[nodiscard]] bool page_locked() const { return shelf_ != nullptr; }

   private:
    friend class PageLockedPool;
    std::shared_ptr<Shelf> shelf_;  // null: ordinary memory
    std::byte* data_ = nullptr;
    size_t size_class_ = 0;
  };

  // Holds at most so much page-locked memory.
  PageLockedPool(std::shared_ptr<Device> device, size_t limit_bytes);
  PageLockedPool(const PageLockedPool&) = delete;
  PageLockedPool& operator=(const PageLockedPool&) = delete;

  // Throws std::bad_alloc where ordinary memory runs out too.
  [[nodiscard]] Block Take(size_t bytes);

 private:
  static constexpr size_t kShelves = 16;  // as many threads as packed in the measurement

  // A block of the class from this thread's shelf, or another's, or the driver; null where there is
  // none.
  [[nodiscard]] std::byte* TakePageLocked(size_t size_class, size_t own_shelf);

  const std::shared_ptr<Slabs> slabs_;
  std::array<std::shared_ptr<Shelf>, kShelves> shelves_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_PAGE_LOCKED_POOL_H_
