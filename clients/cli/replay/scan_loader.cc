// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_loader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {

ScanSource FileScans(std::vector<std::string> paths, const CloudReadOptions& read) {
  return
      [paths = std::move(paths), read, next = size_t{0}]() mutable -> absl::StatusOr<SourceScan> {
        VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud, ReadCloud(paths[next++], read));
        return SourceScan{std::move(cloud), std::nullopt};
      };
}

ScanSource BagScans(std::unique_ptr<bag::DriveClouds> clouds,
                    std::optional<ros::PointTimeChoice> times) {
  // Functions can be copied, which an owner cannot.
  const std::shared_ptr<bag::DriveClouds> shared = std::move(clouds);
  return [shared, times = std::move(times)]() -> absl::StatusOr<SourceScan> {
    if (!times.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud, shared->Next());
      return SourceScan{std::move(cloud), std::nullopt};
    }
    VOXLOC_ASSIGN_OR_RETURN(v1::Cloud timed, shared->NextWithTimes(*times));
    SourceScan scan;
    VOXLOC_TRY(client::DecodePoints(timed, &scan.cloud));
    scan.timed = std::move(timed);
    return scan;
  };
}

ScanLoader::ScanLoader(ScanSource source, std::vector<std::string> names,
                       const FilterOptions& filter, size_t picture_points, size_t depth)
    : source_(std::move(source)),
      names_(std::move(names)),
      filter_(filter),
      picture_points_(picture_points),
      depth_(depth) {
  if (depth_ > 0) thread_ = std::thread([this] { Run(); });
}

ScanLoader::~ScanLoader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<LoadedScan> ScanLoader::Load() {
  const std::string& name = names_[next_++];
  VOXLOC_ASSIGN_OR_RETURN(SourceScan source, source_());
  LoadedScan scan;
  if (picture_points_ > 0) {
    FilterOptions picture = filter_;
    picture.voxel_leaf_m = 0.0;
    picture.max_points = picture_points_;
    absl::StatusOr<FilteredCloud> chosen = FilterCloud(source.cloud, picture);
    if (chosen.ok()) scan.picture = std::move(chosen->cloud);
  }
  if (source.timed.has_value()) {
    scan.timed = *std::move(source.timed);
    return scan;
  }
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(source.cloud, filter_);
  if (!filtered.ok()) {
    return absl::Status(filtered.status().code(),
                        absl::StrCat(name, ": ", filtered.status().message()));
  }
  scan.cloud = std::move(filtered->cloud);
  return scan;
}

void ScanLoader::Run() {
  while (next_ < names_.size()) {
    absl::StatusOr<LoadedScan> scan = Load();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || ready_.size() < depth_; });
    if (stopping_) return;
    if (scan.ok()) {
      ready_.push_back(*std::move(scan));
    } else {
      error_ = scan.status();
    }
    changed_.notify_all();
    if (!error_.ok()) return;
  }
}

absl::StatusOr<LoadedScan> ScanLoader::Next() {
  if (depth_ == 0) return Load();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || !error_.ok(); });
  if (ready_.empty()) return error_;
  LoadedScan scan = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return scan;
}

}  // namespace voxloc::cli
