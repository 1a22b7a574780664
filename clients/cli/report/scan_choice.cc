// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/scan_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace voxloc::cli {

ScanChoice::ScanChoice(size_t scans, size_t most)
    : scans_(scans), spread_(std::min(scans, (most + 1) / 2)), worst_(most - (most + 1) / 2) {}

bool ScanChoice::IsSpread(size_t index) const {
  if (spread_ == 0 || index >= scans_) return false;
  if (spread_ == 1) return index == scans_ / 2;
  // The first and the last, and the others at equal distances, rounded down.
  const size_t near = index * (spread_ - 1) / (scans_ - 1);
  for (size_t k = near; k <= std::min(near + 1, spread_ - 1); ++k) {
    if (k * (scans_ - 1) / (spread_ - 1) == index) return true;
  }
  return false;
}

void ScanChoice::Offer(size_t index, double error_m, const PointCloud& cloud) {
  if (IsSpread(index)) {
    spread_scans_.push_back({index, error_m, cloud});
    return;
  }
  const bool full = worst_scans_.size() >= worst_;
  if (worst_ == 0 || (full && error_m <= worst_scans_.front().error_m)) return;
  if (full) worst_scans_.erase(worst_scans_.begin());
  const auto at =
      std::upper_bound(worst_scans_.begin(), worst_scans_.end(), error_m,
                       [](double error, const ChosenScan& other) { return error < other.error_m; });
  worst_scans_.insert(at, {index, error_m, cloud});
}

std::vector<ChosenScan> ScanChoice::Take() {
  std::vector<ChosenScan> all = std::move(spread_scans_);
  all.insert(all.end(), std::make_move_iterator(worst_scans_.begin()),
             std::make_move_iterator(worst_scans_.end()));
  spread_scans_.clear();
  worst_scans_.clear();
  std::sort(all.begin(), all.end(),
            [](const ChosenScan& a, const ChosenScan& b) { return a.index < b.index; });
  return all;
}

}  // namespace voxloc::cli
