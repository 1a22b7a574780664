// SPDX-License-Identifier: Apache-2.0
//
// What this process may use: processors, memory and open files, by the machine, the control groups
// (cgroups(7)) and the limits of the process. Of the control groups, those of version 2 count and,
// where the controller is in a hierarchy of version 1, those. The group's own limit and those of
// all groups above it hold; the smallest counts. Thread-safe: the only state is that of the
// process.

#ifndef VOXLOC_CORE_HOST_PROCESS_LIMITS_H_
#define VOXLOC_CORE_HOST_PROCESS_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace voxloc {

// Where the kernel shows control groups.
struct CgroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// The CPU quota (`cpu.max`; `cpu.cfs_quota_us`) in processors: 1.5 means 150 % of one processor's
// time. nullopt: no quota, or it cannot be read.
[[nodiscard]] std::optional<double> CgroupCpuQuota(const CgroupFiles& files = {});

// The memory limit (`memory.max`; `memory.limit_in_bytes`), bytes. nullopt likewise.
[[nodiscard]] std::optional<uint64_t> CgroupMemoryLimit(const CgroupFiles& files = {});

// The memory that may still be allocated, bytes: the minimum over the groups of the limit minus the
// group's usage (`memory.current`; `memory.usage_in_bytes`). nullopt likewise.
[[nodiscard]] std::optional<uint64_t> CgroupMemoryAvailable(const CgroupFiles& files = {});

// The memory of the machine, bytes.
[[nodiscard]] uint64_t PhysicalMemoryBytes();

// The smaller of the machine's memory and the limit of the control groups, bytes.
[[nodiscard]] uint64_t UsableMemoryBytes(const CgroupFiles& files = {});

// What can be had of the usable memory now, bytes: the smaller of what the machine has available
// and what the control groups have left.
[[nodiscard]] uint64_t AvailableMemoryBytes(const CgroupFiles& files = {});

// How many descriptors this process may have open (RLIMIT_NOFILE): the limit in effect.
[[nodiscard]] uint64_t OpenFilesLimit();

// Raises the soft limit to the hard limit, and returns the limit now in effect.
uint64_t RaiseOpenFilesLimit();

}  // namespace voxloc

#endif  // VOXLOC_CORE_HOST_PROCESS_LIMITS_H_
