// SPDX-License-Identifier: Apache-2.0
//
// Reads and thins the scans of a replay ahead of their use, so that disks do not show in latencies.
// One thread of its own; Next is for one other. At most `depth` scans are kept in memory.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/filters.h"

namespace voxloc::cli {

struct LoadedScan {
  PointCloud cloud;    // as it is sent
  PointCloud picture;  // a choice of the points before thinning, for the report; may be empty
};

class ScanLoader {
 public:
  // `picture_points`: how many points of each scan the report wants. 0: none.
  ScanLoader(std::vector<std::string> paths, const FilterOptions& filter, size_t picture_points,
             size_t depth = 16);
  ~ScanLoader();
  ScanLoader(const ScanLoader&) = delete;
  ScanLoader& operator=(const ScanLoader&) = delete;

  // The next scan in order, waiting for it. To be called once for every path, or until an error.
  [[nodiscard]] absl::StatusOr<LoadedScan> Next();

 private:
  void Run();
  absl::StatusOr<LoadedScan> Load(const std::string& path) const;

  const std::vector<std::string> paths_;
  const FilterOptions filter_;
  const size_t picture_points_;
  const size_t depth_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<absl::StatusOr<LoadedScan>> ready_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_
