// SPDX-License-Identifier: Apache-2.0
//
// What this process may use: processors, memory and open files, by the machine, the control groups
// (cgroups(7)) and the limits of the process. Of the control groups, those of version 2 count and,
// where the controller is in a hierarchy of version 1, those. The group's own limit and those of all
// groups above it hold; the smallest counts. Thread-safe: the only state is that of the process.

#ifndef VOXLOC_CORE_HOST_PROCESS_LIMITS_H_
#define VOXLOC_CORE_HOST_PROCESS_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace voxloc {

// Where the kernel shows control groups: those of version 2 and, where the controller is in a
// hierarchy of version 1, those. The group's own limit and those of all groups above it hold; the
// smallest counts.
struct CgroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// The CPU quota (`cpu.max`; `cpu.cfs_quota_us`), processors: 1.5 is three halves of the time of
// one. nullopt: no quota, or none that can be read.
[[nodiscard]] std::optional<double> CgroupCpuQuota(const CgroupFiles& files = {});

// The memory limit (`memory.max`; `memory.limit_in_bytes`), bytes. nullopt likewise.
[[nodiscard]] std::optional<uint64_t> CgroupMemoryLimit(const CgroupFiles& files = {});

// What is left of the memory limit, bytes: of each limit less what its group uses
// (`memory.current`; `memory.usage_in_bytes`), the smallest. nullopt likewise.
[[nodiscard]] std::optional<uint64_t> CgroupMemoryLeft(const CgroupFiles& files = {});

// The memory of the machine, bytes.
[[nodiscard]] uint64_t PhysicalMemoryBytes();

// The smaller of the machine's memory and the limit of the control groups, bytes.
[[nodiscard]] uint64_t UsableMemoryBytes(const CgroupFiles& files = {});

// What can be had of the usable memory now, bytes: the smaller of what the machine has available
// and what the control groups have left.
[[nodiscard]] uint64_t AvailableMemoryBytes(const CgroupFiles& files = {});

// How many descriptors this process may have open (RLIMIT_NOFILE): the limit in effect.
[[nodiscard]] uint64_t OpenFilesLimit();

// Raises it as far as the process may (the hard limit), and returns what is in effect then.
uint64_t RaiseOpenFilesLimit();

}  // namespace voxloc

#endif  // VOXLOC_CORE_HOST_PROCESS_LIMITS_H_
