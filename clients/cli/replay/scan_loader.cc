// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_loader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cloud/cloud_io.h"

namespace voxloc::cli {

ScanLoader::ScanLoader(std::vector<std::string> paths, const FilterOptions& filter,
                       size_t picture_points, size_t depth)
    : paths_(std::move(paths)),
      filter_(filter),
      picture_points_(picture_points),
      depth_(depth),
      thread_([this] { Run(); }) {}

ScanLoader::~ScanLoader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::StatusOr<LoadedScan> ScanLoader::Load(const std::string& path) const {
  absl::StatusOr<PointCloud> cloud = ReadCloud(path);
  if (!cloud.ok()) return cloud.status();
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(*cloud, filter_);
  if (!filtered.ok()) {
    return absl::Status(filtered.status().code(),
                        absl::StrCat(path, ": ", filtered.status().message()));
  }
  LoadedScan scan;
  scan.cloud = std::move(filtered->cloud);
  if (picture_points_ > 0) {
    FilterOptions picture = filter_;
    picture.voxel_leaf_m = 0.0;
    picture.max_points = picture_points_;
    absl::StatusOr<FilteredCloud> chosen = FilterCloud(*cloud, picture);
    if (chosen.ok()) scan.picture = std::move(chosen->cloud);
  }
  return scan;
}

void ScanLoader::Run() {
  for (const std::string& path : paths_) {
    absl::StatusOr<LoadedScan> scan = Load(path);
    const bool ok = scan.ok();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || ready_.size() < depth_; });
    if (stopping_) return;
    ready_.push_back(std::move(scan));
    changed_.notify_all();
    if (!ok) return;
  }
}

absl::StatusOr<LoadedScan> ScanLoader::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
  absl::StatusOr<LoadedScan> scan = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return scan;
}

}  // namespace voxloc::cli
