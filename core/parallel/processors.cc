// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <thread>

namespace voxloc {
namespace {

// The process's group below the root, "/" or "/a/b"; nullopt where version 2 is not in use.
std::optional<std::string> GroupPath(const std::string& membership_file) {
  std::ifstream file(membership_file);
  const std::string prefix = "0::";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, prefix.size(), prefix) == 0) return line.substr(prefix.size());
  }
  return std::nullopt;
}

// Of one group: its file holds "max PERIOD" or "QUOTA PERIOD", microseconds.
std::optional<size_t> ProcessorsOfGroup(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  int64_t quota_us = 0;
  int64_t period_us = 0;
  if (!(file >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return std::nullopt;
  return static_cast<size_t>((quota_us - 1) / period_us + 1);
}

}  // namespace

std::optional<size_t> CgroupProcessors(const CgroupFiles& files) {
  std::optional<std::string> group = GroupPath(files.membership);
  if (!group.has_value()) return std::nullopt;
  std::optional<size_t> fewest;
  for (;;) {
    const std::optional<size_t> here = ProcessorsOfGroup(files.root + *group);
    if (here.has_value()) fewest = std::min(fewest.value_or(*here), *here);
    const size_t parent_end = group->rfind('/');
    if (parent_end == std::string::npos) return fewest;
    group->resize(parent_end);
  }
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
