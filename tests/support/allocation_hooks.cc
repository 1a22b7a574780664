// SPDX-License-Identifier: Apache-2.0

#include "tests/support/allocation_hooks.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace voxloc {
namespace {

std::atomic<uint64_t> g_allocations{0};
std::atomic<size_t> g_largest_bytes{0};
// Numbers of allocations, counted from the construction of a FailingAllocations.
std::atomic<bool> g_armed{false};
std::atomic<uint64_t> g_since_armed{0};
std::atomic<uint64_t> g_fail_begin{0};
std::atomic<uint64_t> g_fail_end{0};
std::atomic<uint64_t> g_failed{0};

bool ShouldFail() {
  if (!g_armed.load()) return false;
  const uint64_t number = ++g_since_armed;
  if (number < g_fail_begin.load() || number >= g_fail_end.load()) return false;
  ++g_failed;
  return true;
}

void* Allocate(size_t bytes, size_t alignment) {
  ++g_allocations;
  size_t largest = g_largest_bytes.load();
  while (bytes > largest && !g_largest_bytes.compare_exchange_weak(largest, bytes)) {
  }
  if (ShouldFail()) return nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(size_t bytes, size_t alignment) {
  void* const memory = Allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

AllocationCounts CountedAllocations() { return {g_allocations.load(), g_largest_bytes.load()}; }

void ResetAllocationCounts() {
  g_allocations = 0;
  g_largest_bytes = 0;
}

FailingAllocations::FailingAllocations(uint64_t first, uint64_t count) {
  g_since_armed = 0;
  g_failed = 0;
  g_fail_begin = first;
  g_fail_end = first + count;
  g_armed = true;
}

FailingAllocations::~FailingAllocations() { g_armed = false; }

uint64_t FailingAllocations::failed() const { return g_failed.load(); }

}  // namespace voxloc

void* operator new(size_t bytes) { return voxloc::AllocateOrThrow(bytes, 1); }
void* operator new[](size_t bytes) { return voxloc::AllocateOrThrow(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return voxloc::AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return voxloc::AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return voxloc::Allocate(bytes, 1);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return voxloc::Allocate(bytes, 1);
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return voxloc::Allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return voxloc::Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
