// SPDX-License-Identifier: Apache-2.0
//
// ScanAssembler: joins clouds of several LiDARs into scans. The first source leads: the stamp of
// its cloud is that of the scan. A scan is complete when each other source has a cloud within
// max_stamp_difference of it. The next cloud of the leading source completes it without the missing
// clouds. A source that was missing three times in a row is not waited for until it sends again.
// With one source every cloud is a scan at once. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_SCAN_ASSEMBLER_H_
#define VOXLOC_CLIENTS_ROS_CORE_SCAN_ASSEMBLER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace voxloc::ros {

// A cloud of one source: `Cloud` has a member `stamp_ns`.
template <typename Cloud>
class ScanAssembler {
 public:
  // `sources` at least 1.
  ScanAssembler(size_t sources, int64_t max_stamp_difference_ns)
      : max_difference_ns_(max_stamp_difference_ns), sources_(sources) {}

  // The scans that this cloud completes (0, 1, or 2 if it also ends the wait of the previous scan),
  // each with the leading source's cloud first. Keeps at most one incomplete scan and the newest
  // cloud of each other source.
  [[nodiscard]] std::vector<std::vector<Cloud>> Add(size_t source, Cloud cloud) {
    std::vector<std::vector<Cloud>> scans;
    if (source == 0 && sources_.front().newest.has_value()) scans.push_back(AssembleScan());
    sources_[source].newest = std::move(cloud);
    if (IsComplete()) scans.push_back(AssembleScan());
    return scans;
  }

  // How often a scan went without this source's cloud.
  [[nodiscard]] uint64_t missing(size_t source) const { return sources_[source].missing; }

 private:
  static constexpr int kMaxMissesInARow = 3;

  struct Source {
    std::optional<Cloud> newest;
    int missing_in_a_row = 0;
    uint64_t missing = 0;
  };

  [[nodiscard]] bool HasMatchingCloud(const Source& source) const {
    if (!source.newest.has_value()) return false;
    const int64_t difference_ns = source.newest->stamp_ns - sources_.front().newest->stamp_ns;
    return difference_ns <= max_difference_ns_ && -difference_ns <= max_difference_ns_;
  }

  [[nodiscard]] bool IsComplete() const {
    if (!sources_.front().newest.has_value()) return false;
    for (size_t i = 1; i < sources_.size(); ++i) {
      if (!HasMatchingCloud(sources_[i]) && sources_[i].missing_in_a_row < kMaxMissesInARow)
        return false;
    }
    return true;
  }

  [[nodiscard]] std::vector<Cloud> AssembleScan() {
    std::vector<Cloud> scan;
    for (size_t i = 1; i < sources_.size(); ++i) {
      Source& source = sources_[i];
      if (HasMatchingCloud(source)) {
        scan.push_back(std::move(*source.newest));
        source.newest.reset();
        source.missing_in_a_row = 0;
      } else {
        ++source.missing_in_a_row;
        ++source.missing;
      }
    }
    scan.insert(scan.begin(), std::move(*sources_.front().newest));
    sources_.front().newest.reset();
    return scan;
  }

  int64_t max_difference_ns_;
  std::vector<Source> sources_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_SCAN_ASSEMBLER_H_
