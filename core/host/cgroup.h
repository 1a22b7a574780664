// SPDX-License-Identifier: Apache-2.0
//
// What the control groups of this process leave it (cgroups(7)): those of version 2 and, where the
// controller is in a hierarchy of version 1, those. The group's own limit and those of all groups
// above it hold; the smallest counts. Thread-safe: no state.

#ifndef VOXLOC_CORE_HOST_CGROUP_H_
#define VOXLOC_CORE_HOST_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace voxloc {

// Where the kernel shows control groups.
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

}  // namespace voxloc

#endif  // VOXLOC_CORE_HOST_CGROUP_H_
