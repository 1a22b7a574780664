// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/page_locked_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace voxloc::cuda {
namespace {

// Allocated from the driver at a time: 40 blocks for scans of 1,500 points.
constexpr size_t kSlabBytes = size_t{1} << 20;

// Threads are numbered in the order of their first call.
size_t ThreadNumber() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

PageLockedPool::Slabs::~Slabs() {
  // If the device has failed, the driver has released the memory already.
  if (!device_->MakeCurrent().ok()) return;
  for (void* slab : slabs_) {
    static_cast<void>(device_->Check(cudaFreeHost(slab), "freeing page-locked memory"));
  }
}

std::byte* PageLockedPool::Slabs::Add(size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  if (bytes_ + bytes > limit_bytes_) return nullptr;
  slabs_.reserve(slabs_.size() + 1);  // may throw: before the allocation
  if (!device_->MakeCurrent().ok()) return nullptr;
  void* slab = nullptr;
  const cudaError_t error =
      cudaHostAlloc(&slab, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  if (!device_->Check(error, "allocating page-locked memory").ok()) return nullptr;
  slabs_.push_back(slab);
  bytes_ += bytes;
  return static_cast<std::byte*>(slab);
}

std::byte* PageLockedPool::FreeList::Acquire(size_t size_class) {
  const absl::MutexLock lock(&mutex_);
  std::byte* const block = first_[size_class];
  if (block != nullptr) std::memcpy(&first_[size_class], block, sizeof(block));
  return block;
}

void PageLockedPool::FreeList::Release(std::byte* block, size_t size_class) {
  const absl::MutexLock lock(&mutex_);
  std::memcpy(block, &first_[size_class], sizeof(block));
  first_[size_class] = block;
}

std::byte* PageLockedPool::FreeList::AcquireFromNewSlab(size_t size_class) {
  const size_t block_bytes = BytesOf(size_class);
  const size_t blocks = std::max<size_t>(1, kSlabBytes / block_bytes);
  std::byte* const slab = slabs_->Add(blocks * block_bytes);
  if (slab == nullptr) return nullptr;
  for (size_t i = blocks; i-- > 1;) Release(slab + i * block_bytes, size_class);
  return slab;
}

PageLockedPool::Block::~Block() {
  if (data_ == nullptr) return;
  if (free_list_ != nullptr) {
    free_list_->Release(data_, size_class_);
  } else {
    ::operator delete (data_, std::align_val_t{kAlignment});
  }
}

PageLockedPool::PageLockedPool(std::shared_ptr<Device> device, size_t limit_bytes)
    : slabs_(std::make_shared<Slabs>(std::move(device), limit_bytes)) {
  for (std::shared_ptr<FreeList>& free_list : free_lists_)
    free_list = std::make_shared<FreeList>(slabs_);
}

size_t PageLockedPool::BytesOf(size_t size_class) {
  const size_t doubling = size_class / kSizesPerDoubling;
  const size_t quarters = kSizesPerDoubling + size_class % kSizesPerDoubling;
  return (kMinBlockBytes << doubling) / kSizesPerDoubling * quarters;
}

size_t PageLockedPool::SizeClassOf(size_t bytes) {
  size_t size_class = 0;
  while (BytesOf(size_class) < bytes) ++size_class;
  return size_class;
}

PageLockedPool::Block PageLockedPool::Acquire(size_t bytes) {
  Block block;
  if (bytes <= kMaxBlockBytes) {
    const size_t own_list = ThreadNumber() % kFreeLists;
    block.size_class_ = SizeClassOf(bytes);
    block.data_ = AcquirePageLocked(block.size_class_, own_list);
    if (block.data_ != nullptr) {
      block.free_list_ = free_lists_[own_list];
      return block;
    }
    slabs_->device().CountPageableFallback();
  }
  block.data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}));
  return block;
}

std::byte* PageLockedPool::AcquirePageLocked(size_t size_class, size_t own_list) {
  for (size_t i = 0; i < kFreeLists; ++i) {
    std::byte* const block = free_lists_[(own_list + i) % kFreeLists]->Acquire(size_class);
    if (block != nullptr) return block;
  }
  return free_lists_[own_list]->AcquireFromNewSlab(size_class);
}

}  // namespace voxloc::cuda
