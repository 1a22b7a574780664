// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_source.h"

#include "clients/cpp/messages.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc::cli {

absl::StatusOr<SourceScan> FileScans::Next() {
  absl::StatusOr<PointCloud> cloud = ReadCloud(paths_[next_++], read_);
  if (!cloud.ok()) return cloud.status();
  return SourceScan{*std::move(cloud), std::nullopt};
}

absl::StatusOr<SourceScan> BagScans::Next() {
  if (!times_.has_value()) {
    absl::StatusOr<PointCloud> cloud = clouds_->Next();
    if (!cloud.ok()) return cloud.status();
    return SourceScan{*std::move(cloud), std::nullopt};
  }
  absl::StatusOr<v1::Cloud> timed = clouds_->NextWithTimes(*times_);
  if (!timed.ok()) return timed.status();
  SourceScan scan;
  if (absl::Status status = client::DecodePoints(*timed, &scan.cloud); !status.ok()) return status;
  scan.timed = *std::move(timed);
  return scan;
}

}  // namespace voxloc::cli
