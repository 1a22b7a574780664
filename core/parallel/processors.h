// SPDX-License-Identifier: Apache-2.0
//
// How many processors this process may use at a time: the default number of an engine's threads.

#ifndef VOXLOC_CORE_PARALLEL_PROCESSORS_H_
#define VOXLOC_CORE_PARALLEL_PROCESSORS_H_

#include <cstddef>
#include <optional>

#include "core/host/process_limits.h"

namespace voxloc {

// The processors that the CPU quota of the control groups leaves, rounded up; at least 1. nullopt:
// no quota, or none that can be read.
[[nodiscard]] std::optional<size_t> CgroupProcessors(const CgroupFiles& files = {});

// The processors in the calling thread's affinity mask; at least 1.
[[nodiscard]] size_t AffinityProcessors();

// The smaller of both.
[[nodiscard]] size_t UsableProcessors(const CgroupFiles& files = {});

}  // namespace voxloc

#endif  // VOXLOC_CORE_PARALLEL_PROCESSORS_H_
