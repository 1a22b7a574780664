// SPDX-License-Identifier: Apache-2.0
//
// Reads and thins the scans of a replay. With a depth, a thread of its own works that many scans
// ahead, for scans that leave on schedule; without, Next does the work, and nothing competes with
// the server while it aligns. Next is for one thread.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/replay/loaded_scan.h"
#include "clients/cli/replay/scan_source.h"
#include "core/cloud/filters.h"

namespace voxloc::cli {

class ScanLoader {
 public:
  // `names`: of the scans that `source` gives, for errors. `picture_points`: how many points of
  // each scan the report wants. 0: none.
  ScanLoader(std::unique_ptr<ScanSource> source, std::vector<std::string> names,
             const FilterOptions& filter, size_t picture_points, size_t depth);
  ~ScanLoader();
  ScanLoader(const ScanLoader&) = delete;
  ScanLoader& operator=(const ScanLoader&) = delete;

  // The next scan in order, waiting for it. To be called once for every name, or until an error.
  [[nodiscard]] absl::StatusOr<LoadedScan> Next();

 private:
  void Run();
  [[nodiscard]] absl::StatusOr<LoadedScan> Load();

  const std::unique_ptr<ScanSource> source_;
  const std::vector<std::string> names_;
  const FilterOptions filter_;
  const size_t picture_points_;
  const size_t depth_;
  size_t next_ = 0;  // of the thread that loads

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LoadedScan> ready_;
  absl::Status error_;  // of the scan after those that are ready
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_
