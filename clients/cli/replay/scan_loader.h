// SPDX-License-Identifier: Apache-2.0
//
// The scans of a replay, read from files or a bag and thinned.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_SCAN_LOADER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "clients/pointcloud2/point_layout.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::cli {

struct SourceScan {
  PointCloud cloud;                // in its sensor's frame
  std::optional<v1::Cloud> timed;  // the same with the times of its points, where they are wanted
};

// Gives the next scan; to be called once for every scan, by one thread. The error names it.
using ScanSource = std::function<absl::StatusOr<SourceScan>()>;

[[nodiscard]] ScanSource FileScans(std::vector<std::string> paths,
                                   const CloudReadOptions& read = {});

// `times`: which times of points the scans have; nullopt: none. The drive of `clouds` must outlive
// the source.
[[nodiscard]] ScanSource BagScans(std::unique_ptr<bag::DriveClouds> clouds,
                                  std::optional<ros::PointTimeChoice> times);

struct LoadedScan {
  PointCloud cloud;    // as it is sent
  PointCloud picture;  // a choice of the points before thinning, for the report; may be empty
  // With the times of its points: sent in the place of `cloud`, and thinned by the server, which
  // first moves the points to where they were at the stamp.
  std::optional<v1::Cloud> timed;
};

// With a depth, a thread of its own works that many scans ahead, for scans that leave on schedule;
// without, Next does the work, and nothing competes with the server while it aligns. Next is for
// one thread.
class ScanLoader {
 public:
  // `names`: of the scans that `source` gives, for errors. `picture_points`: how many points of
  // each scan the report wants. 0: none.
  ScanLoader(ScanSource source, std::vector<std::string> names, const FilterOptions& filter,
             size_t picture_points, size_t depth);
  ~ScanLoader();
  ScanLoader(const ScanLoader&) = delete;
  ScanLoader& operator=(const ScanLoader&) = delete;

  // The next scan in order, waiting for it. To be called once for every name, or until an error.
  [[nodiscard]] absl::StatusOr<LoadedScan> Next();

 private:
  void Run();
  [[nodiscard]] absl::StatusOr<LoadedScan> Load();

  const ScanSource source_;
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
