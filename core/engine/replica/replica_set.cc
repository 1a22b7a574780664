// SPDX-License-Identifier: Apache-2.0

#include "core/engine/replica/replica_set.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/out_of_memory.h"

namespace voxloc {

ReplicaSet::ReplicaSet(std::vector<std::unique_ptr<Engine>> engines)
    : engines_(std::move(engines)), failed_(engines_.size()) {}

bool ReplicaSet::InService(size_t replica) const {
  if (failed_[replica].load(std::memory_order_acquire)) return false;
  if (engines_[replica]->Health().ok()) return true;
  failed_[replica].store(true, std::memory_order_release);
  return false;
}

std::vector<size_t> ReplicaSet::InService() const {
  std::vector<size_t> replicas;
  for (size_t i = 0; i < engines_.size(); ++i) {
    if (InService(i)) replicas.push_back(i);
  }
  return replicas;
}

absl::Status ReplicaSet::NoneInServiceError() const {
  std::string message = absl::StrCat("all ", engines_.size(), " engines are out of service");
  for (const auto& engine : engines_) {
    absl::StrAppend(&message, "; ", engine->Info().device, ": ", engine->Health().message());
  }
  return absl::UnavailableError(message);
}

void ReplicaSet::InParallel(size_t count, absl::FunctionRef<void(size_t)> body) {
  if (count == 0) return;
  std::vector<std::exception_ptr> errors(count);
  const auto run = [&](size_t i) {
    try {
      body(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  size_t started = 1;
  try {
    threads.reserve(count - 1);
    for (; started < count; ++started) threads.emplace_back(run, started);
  } catch (const std::exception&) {
    // No thread, or no memory for one: the caller's thread does the rest.
  }
  run(0);
  for (size_t i = started; i < count; ++i) run(i);
  for (std::thread& thread : threads) thread.join();
  for (std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(std::move(error));
  }
}

absl::StatusOr<std::vector<MapCell>> ReplicatedMap::CellsInBox(size_t statistics_index,
                                                               const Eigen::Vector3d& min,
                                                               const Eigen::Vector3d& max,
                                                               size_t max_cells) const {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<std::vector<MapCell>> {
        for (size_t i = 0; i < parts().size(); ++i) {
          if (parts()[i] == nullptr || !replicas().InService(i)) continue;
          auto cells = parts()[i]->CellsInBox(statistics_index, min, max, max_cells);
          if (cells.ok() || replicas().InService(i)) return cells;
        }
        return replicas().NoneInServiceError();
      },
      [] { return "no memory for the cells of the box"; });
}

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
