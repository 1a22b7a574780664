// SPDX-License-Identifier: Apache-2.0

#include "core/host/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace voxloc {
namespace {

// Version 1 shows "no limit" as the largest multiple of a page in 63 bits; nothing real is near.
constexpr int64_t kNoLimit = int64_t{1} << 62U;

// One group on the way from the process's own to the root.
struct Group {
  std::string folder;
  bool version_1 = false;
};

void AddWithParents(const std::string& root, std::string path, bool version_1,
                    std::vector<Group>& groups) {
  for (;;) {
    groups.push_back({root + path, version_1});
    const size_t parent_end = path.rfind('/');
    if (parent_end == std::string::npos) return;
    path.resize(parent_end);
  }
}

// The groups in which `controller` may limit the process. A line of the membership file is
// HIERARCHY:CONTROLLERS:PATH, with 0 and no controllers for version 2.
std::vector<Group> GroupsOf(absl::string_view controller, const CgroupFiles& files) {
  std::vector<Group> groups;
  std::ifstream membership(files.membership);
  for (std::string line; std::getline(membership, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) {
      AddWithParents(files.root, parts[2], false, groups);
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      AddWithParents(absl::StrCat(files.root, "/", parts[1]), parts[2], true, groups);
    }
  }
  return groups;
}

// The number that the file begins with. nullopt: none ("max"), or no file.
std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<double> QuotaOf(const Group& group) {
  int64_t quota_us = 0;
  int64_t period_us = 0;
  if (group.version_1) {
    quota_us = ReadNumber(group.folder + "/cpu.cfs_quota_us").value_or(0);
    period_us = ReadNumber(group.folder + "/cpu.cfs_period_us").value_or(0);
  } else {  // "max PERIOD" or "QUOTA PERIOD"
    std::ifstream file(group.folder + "/cpu.max");
    if (!(file >> quota_us >> period_us)) return std::nullopt;
  }
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;
  return static_cast<double>(quota_us) / static_cast<double>(period_us);
}

std::optional<uint64_t> MemoryOf(const Group& group, bool left) {
  const std::optional<int64_t> limit =
      ReadNumber(group.folder + (group.version_1 ? "/memory.limit_in_bytes" : "/memory.max"));
  if (!limit.has_value() || *limit < 0 || *limit >= kNoLimit) return std::nullopt;
  if (!left) return static_cast<uint64_t>(*limit);
  const std::optional<int64_t> used =
      ReadNumber(group.folder + (group.version_1 ? "/memory.usage_in_bytes" : "/memory.current"));
  return static_cast<uint64_t>(std::max<int64_t>(0, *limit - used.value_or(0)));
}

template <typename Value, typename Read>
std::optional<Value> SmallestLimit(absl::string_view controller, const CgroupFiles& files,
                                   const Read& read) {
  std::optional<Value> smallest;
  for (const Group& group : GroupsOf(controller, files)) {
    const std::optional<Value> here = read(group);
    if (here.has_value()) smallest = std::min(smallest.value_or(*here), *here);
  }
  return smallest;
}

uint64_t PagesInBytes(int name) {
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
  return PagesInBytes(_SC_AVPHYS_PAGES);
}

}  // namespace

std::optional<double> CgroupCpuQuota(const CgroupFiles& files) {
  return SmallestLimit<double>("cpu", files, QuotaOf);
}

std::optional<uint64_t> CgroupMemoryLimit(const CgroupFiles& files) {
  return SmallestLimit<uint64_t>("memory", files,
                                 [](const Group& group) { return MemoryOf(group, false); });
}

std::optional<uint64_t> CgroupMemoryAvailable(const CgroupFiles& files) {
  return SmallestLimit<uint64_t>("memory", files,
                                 [](const Group& group) { return MemoryOf(group, true); });
}

uint64_t PhysicalMemoryBytes() { return PagesInBytes(_SC_PHYS_PAGES); }

uint64_t UsableMemoryBytes(const CgroupFiles& files) {
  const uint64_t physical = PhysicalMemoryBytes();
  return std::min(physical, CgroupMemoryLimit(files).value_or(physical));
}

uint64_t AvailableMemoryBytes(const CgroupFiles& files) {
  const uint64_t available = MachineAvailableBytes();
  return std::min(available, CgroupMemoryAvailable(files).value_or(available));
}

uint64_t OpenFilesLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

uint64_t RaiseOpenFilesLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return OpenFilesLimit();
}

}  // namespace voxloc
