// SPDX-License-Identifier: Apache-2.0
//
// Where the scans of a replay come from, one after the other: files, or a bag. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_SCAN_SOURCE_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_SCAN_SOURCE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

class ScanSource {
 public:
  virtual ~ScanSource() = default;
  // The next scan in its sensor's frame; to be called once for every scan. The error names it.
  [[nodiscard]] virtual absl::StatusOr<PointCloud> Next() = 0;
};

class FileScans : public ScanSource {
 public:
  explicit FileScans(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  [[nodiscard]] absl::StatusOr<PointCloud> Next() override;

 private:
  const std::vector<std::string> paths_;
  size_t next_ = 0;
};

class BagScans : public ScanSource {
 public:
  // The drive of `clouds` must outlive it.
  explicit BagScans(std::unique_ptr<bag::DriveClouds> clouds) : clouds_(std::move(clouds)) {}
  [[nodiscard]] absl::StatusOr<PointCloud> Next() override { return clouds_->Next(); }

 private:
  const std::unique_ptr<bag::DriveClouds> clouds_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_SCAN_SOURCE_H_
