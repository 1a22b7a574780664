// SPDX-License-Identifier: Apache-2.0

#include "core/engine/replica/work_ledger.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace voxloc {
namespace {

// How much of `work` each worker gets, given the outstanding work of each (ascending). Water
// filling: every worker that gets any is filled up to the same level.
std::vector<double> WaterFill(const std::vector<double>& outstanding, double work) {
  size_t filled = 0;
  double sum = work;
  double level = 0.0;
  do {
    sum += outstanding[filled];
    ++filled;
    level = sum / static_cast<double>(filled);
  } while (filled < outstanding.size() && outstanding[filled] < level);
  std::vector<double> shares;
  for (size_t i = 0; i < filled; ++i) shares.push_back(level - outstanding[i]);
  return shares;
}

}  // namespace

std::vector<WorkAssignment> WorkLedger::Split(absl::Span<const uint64_t> items,
                                              absl::Span<const size_t> workers) {
  const double work = static_cast<double>(std::accumulate(items.begin(), items.end(), uint64_t{0}));
  absl::MutexLock lock(&mutex_);
  std::vector<size_t> by_outstanding(workers.begin(), workers.end());
  std::stable_sort(by_outstanding.begin(), by_outstanding.end(),
                   [this](size_t a, size_t b) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                     return outstanding_[a] < outstanding_[b];
                   });
  by_outstanding.resize(std::min(by_outstanding.size(), std::max<size_t>(items.size(), 1)));
  std::vector<double> outstanding;
  outstanding.reserve(by_outstanding.size());
  for (const size_t worker : by_outstanding) {
    outstanding.push_back(static_cast<double>(outstanding_[worker]));
  }
  const std::vector<double> filled = WaterFill(outstanding, work);

  std::vector<WorkAssignment> shares;
  shares.reserve(filled.size());
  size_t item = 0;
  double before = 0.0;  // work of the items before this one
  double border = 0.0;  // where this worker's share ends
  for (size_t i = 0; i < filled.size(); ++i) {
    border += filled[i];
    const bool last = i + 1 == filled.size();
    WorkAssignment share = {by_outstanding[i], item, item, 0};
    // An item belongs to the worker whose range contains the item's middle.
    while (item < items.size() &&
           (last || before + 0.5 * static_cast<double>(items[item]) < border)) {
      before += static_cast<double>(items[item]);
      share.work += items[item];
      ++item;
    }
    share.end = item;
    if (share.begin == share.end) continue;
    outstanding_[share.worker] += share.work;
    shares.push_back(share);
  }
  return shares;
}

void WorkLedger::Complete(WorkAssignment& share) {
  absl::MutexLock lock(&mutex_);
  outstanding_[share.worker] -= std::exchange(share.work, 0);
}

uint64_t WorkLedger::outstanding(size_t worker) const {
  absl::MutexLock lock(&mutex_);
  return outstanding_[worker];
}

}  // namespace voxloc
