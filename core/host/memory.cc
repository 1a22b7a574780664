// SPDX-License-Identifier: Apache-2.0

#include "core/host/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace voxloc {
namespace {

uint64_t Pages(int name) {
  const int64_t pages = sysconf(name);
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0
             ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)
             : 0;
}

// With the caches that the kernel gives back. proc(5): "MemAvailable:  NUMBER kB".
uint64_t MachineAvailableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kib = 0;
  for (std::string line; file >> name >> kib && std::getline(file, line);) {
    if (name == "MemAvailable:") return kib << 10U;
  }
  return Pages(_SC_AVPHYS_PAGES);
}

}  // namespace

uint64_t PhysicalMemoryBytes() { return Pages(_SC_PHYS_PAGES); }

uint64_t UsableMemoryBytes(const CgroupFiles& files) {
  const uint64_t physical = PhysicalMemoryBytes();
  return std::min(physical, CgroupMemoryLimit(files).value_or(physical));
}

uint64_t AvailableMemoryBytes(const CgroupFiles& files) {
  const uint64_t available = MachineAvailableBytes();
  return std::min(available, CgroupMemoryLeft(files).value_or(available));
}

}  // namespace voxloc
