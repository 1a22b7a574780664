// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace voxloc {
namespace {

// That a quota is rounded to: more than any machine has.
constexpr double kMaxProcessors = 1e6;

}  // namespace
std::optional<size_t> CgroupProcessors(const CgroupFiles& files) {
  const std::optional<double> quota = CgroupCpuQuota(files);
  if (!quota.has_value()) return std::nullopt;
  return static_cast<size_t>(std::clamp(std::ceil(*quota), 1.0, kMaxProcessors));
}

size_t AffinityProcessors() {
  cpu_set_t sets[8];  // 8,192 processors
  if (sched_getaffinity(0, sizeof(sets), sets) == 0) {
    return static_cast<size_t>(std::max(1, CPU_COUNT_S(sizeof(sets), sets)));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

size_t UsableProcessors(const CgroupFiles& files) {
  const size_t processors = AffinityProcessors();
  return std::min(processors, CgroupProcessors(files).value_or(processors));
}

}  // namespace voxloc
