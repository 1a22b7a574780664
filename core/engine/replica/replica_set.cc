// SPDX-License-Identifier: Apache-2.0

#include "core/engine/replica/replica_set.h"

#include <exception>
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

}  // namespace voxloc
