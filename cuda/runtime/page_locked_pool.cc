// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/page_locked_pool.h"

#include <algorithm>
#include <new>

namespace voxloc::cuda {
namespace {

// What the driver is asked for at a time: 40 blocks of a scan of 1,500 points with its free space.
constexpr size_t kSlabBytes = size_t{1} << 20;

}  // namespace

PageLockedPool::Block::~Block() {
  if (data_ == nullptr) return;
  if (page_locked_) {
    pool_->Return(data_, size_class_);
  } else {
    ::operator delete (data_, std::align_val_t{kAlignment});
  }
}

PageLockedPool::~PageLockedPool() {
  // Where the device has failed, the driver has taken its memory back.
  if (!device_->MakeCurrent().ok()) return;
  for (void* slab : slabs_) {
    static_cast<void>(device_->Check(cudaFreeHost(slab), "freeing page-locked memory"));
  }
}

size_t PageLockedPool::BytesOf(size_t size_class) {
  const size_t doubling = size_class / kSizesPerDoubling;
  const size_t quarters = kSizesPerDoubling + size_class % kSizesPerDoubling;
  return (kSmallestBlock << doubling) / kSizesPerDoubling * quarters;
}

size_t PageLockedPool::SizeClassOf(size_t bytes) {
  size_t size_class = 0;
  while (BytesOf(size_class) < bytes) ++size_class;
  return size_class;
}

PageLockedPool::Block PageLockedPool::Take(size_t bytes) {
  Block block;
  block.pool_ = shared_from_this();
  if (bytes <= kLargestBlock) {
    block.size_class_ = SizeClassOf(bytes);
    block.data_ = TakePageLocked(block.size_class_);
    block.page_locked_ = block.data_ != nullptr;
    if (block.page_locked_) return block;
    device_->CountPageableFallback();
  }
  block.data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}));
  return block;
}

std::byte* PageLockedPool::TakePageLocked(size_t size_class) {
  const absl::MutexLock lock(&mutex_);
  std::vector<std::byte*>& free = free_[size_class];
  if (free.empty() && !AddSlab(size_class)) return nullptr;
  std::byte* const block = free.back();
  free.pop_back();
  return block;
}

void PageLockedPool::Return(std::byte* block, size_t size_class) {
  const absl::MutexLock lock(&mutex_);
  free_[size_class].push_back(block);  // there is room: all blocks of the class have been in it
}

bool PageLockedPool::AddSlab(size_t size_class) {
  const size_t block_bytes = BytesOf(size_class);
  const size_t blocks = std::max<size_t>(1, kSlabBytes / block_bytes);
  const size_t bytes = blocks * block_bytes;
  if (bytes_ + bytes > limit_bytes_) return false;
  // What may throw comes first. The list never grows later than here.
  slabs_.reserve(slabs_.size() + 1);
  std::vector<std::byte*>& free = free_[size_class];
  free.reserve(free.capacity() + blocks);
  if (!device_->MakeCurrent().ok()) return false;
  void* slab = nullptr;  // aligned to pages
  const cudaError_t error =
      cudaHostAlloc(&slab, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  if (!device_->Check(error, "allocating page-locked memory").ok()) return false;
  slabs_.push_back(slab);
  bytes_ += bytes;
  for (size_t i = blocks; i-- > 0;) {
    free.push_back(static_cast<std::byte*>(slab) + i * block_bytes);
  }
  return true;
}

}  // namespace voxloc::cuda
