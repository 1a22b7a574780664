// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_loader.h"

#include <utility>

namespace voxloc::cli {

ScanLoader::ScanLoader(std::vector<std::string> paths, const FilterOptions& filter,
                       size_t picture_points, size_t depth)
    : paths_(std::move(paths)), filter_(filter), picture_points_(picture_points), depth_(depth) {
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

void ScanLoader::Run() {
  for (const std::string& path : paths_) {
    absl::StatusOr<LoadedScan> scan = LoadReplayScan(path, filter_, picture_points_);
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
  if (depth_ == 0) return LoadReplayScan(paths_[next_++], filter_, picture_points_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || !error_.ok(); });
  if (ready_.empty()) return error_;
  LoadedScan scan = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return scan;
}

}  // namespace voxloc::cli
