// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_loader.h"

#include <utility>

namespace voxloc::cli {

ScanLoader::ScanLoader(std::unique_ptr<ScanSource> source, std::vector<std::string> names,
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
  absl::StatusOr<SourceScan> scan = source_->Next();
  if (!scan.ok()) return scan.status();
  return ThinReplayScan(*std::move(scan), name, filter_, picture_points_);
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
