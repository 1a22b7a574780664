// SPDX-License-Identifier: Apache-2.0
//
// Outcomes of the scans on each map, for MapCollector: the series of a map end with it, which a
// registry does not support. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_MAP_RESULTS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_MAP_RESULTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class MapResults {
 public:
  enum class Outcome { kAccepted, kRejected, kNotAligned };
  static constexpr std::array<const char*, 3> kNames = {"accepted", "rejected", "not_aligned"};
  using Counts = std::array<uint64_t, kNames.size()>;

  // The most maps that a server may have (limits.max_maps); scans on others are not counted.
  static constexpr size_t kMaxMaps = 10'000;

  void Count(const std::string& map, Outcome outcome) {
    const absl::MutexLock lock(&mutex_);
    auto found = counts_.find(map);
    if (found == counts_.end()) {
      if (counts_.size() >= kMaxMaps) return;
      found = counts_.emplace(map, Counts{}).first;
    }
    ++found->second[static_cast<size_t>(outcome)];
  }

  [[nodiscard]] Counts Of(const std::string& map) const {
    const absl::MutexLock lock(&mutex_);
    const auto found = counts_.find(map);
    return found == counts_.end() ? Counts{} : found->second;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, Counts> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_MAP_RESULTS_H_
