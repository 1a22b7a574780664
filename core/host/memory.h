// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process may use. Thread-safe: no state.

#ifndef VOXLOC_CORE_HOST_MEMORY_H_
#define VOXLOC_CORE_HOST_MEMORY_H_

#include <cstdint>

#include "core/host/cgroup.h"

namespace voxloc {

// Of the machine, bytes.
[[nodiscard]] uint64_t PhysicalMemoryBytes();

// The smaller of the machine's memory and the limit of the control groups, bytes.
[[nodiscard]] uint64_t UsableMemoryBytes(const CgroupFiles& files = {});

// What can be had of it now, bytes: the smaller of what the machine has available and what the
// control groups have left.
[[nodiscard]] uint64_t AvailableMemoryBytes(const CgroupFiles& files = {});

}  // namespace voxloc

#endif  // VOXLOC_CORE_HOST_MEMORY_H_
