// SPDX-License-Identifier: Apache-2.0
//
// Where the scans of a replay come from, one after the other: files, or a bag. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_SCAN_SOURCE_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_SCAN_SOURCE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "clients/pointcloud2/point_layout.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::cli {

struct SourceScan {
  PointCloud cloud;                // in its sensor's frame
  std::optional<v1::Cloud> timed;  // the same with the times of its points, where they are wanted
};

class ScanSource {
 public:
  virtual ~ScanSource() = default;
  // The next scan; to be called once for every scan. The error names it.
  [[nodiscard]] virtual absl::StatusOr<SourceScan> Next() = 0;
};

class FileScans : public ScanSource {
 public:
  explicit FileScans(std::vector<std::string> paths, const CloudReadOptions& read = {})
      : paths_(std::move(paths)), read_(read) {}
  [[nodiscard]] absl::StatusOr<SourceScan> Next() override;

 private:
  const std::vector<std::string> paths_;
  const CloudReadOptions read_;
  size_t next_ = 0;
};

class BagScans : public ScanSource {
 public:
  // `times`: which times of points the scans have; nullopt: none. The drive of `clouds` must
  // outlive it.
  BagScans(std::unique_ptr<bag::DriveClouds> clouds, std::optional<ros::PointTimeChoice> times)
      : clouds_(std::move(clouds)), times_(std::move(times)) {}
  [[nodiscard]] absl::StatusOr<SourceScan> Next() override;

 private:
  const std::unique_ptr<bag::DriveClouds> clouds_;
  const std::optional<ros::PointTimeChoice> times_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_SCAN_SOURCE_H_
