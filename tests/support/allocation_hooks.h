// SPDX-License-Identifier: Apache-2.0
//
// Replaces the global operator new of the program that links it, to count allocations and to let
// them fail. All threads are seen; any thread may call these functions.

#ifndef VOXLOC_TESTS_SUPPORT_ALLOCATION_HOOKS_H_
#define VOXLOC_TESTS_SUPPORT_ALLOCATION_HOOKS_H_

#include <cstddef>
#include <cstdint>

namespace voxloc {

// Allocations asked for since the last ResetAllocationCounts.
struct AllocationCounts {
  uint64_t allocations = 0;
  size_t largest_bytes = 0;
};
[[nodiscard]] AllocationCounts CountedAllocations();
void ResetAllocationCounts();

// Lets `count` allocations fail with std::bad_alloc from the `first`-th from now on (1: the next),
// whichever threads ask for them, until destroyed. One may exist at a time.
class FailingAllocations {
 public:
  static constexpr uint64_t kAllSubsequent = uint64_t{1} << 62;

  explicit FailingAllocations(uint64_t first, uint64_t count = 1);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // How many have failed.
  [[nodiscard]] uint64_t failed() const;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_ALLOCATION_HOOKS_H_
