// SPDX-License-Identifier: Apache-2.0
//
// ReplicaSet: several identical engines and which of them are in service; and tiles, maps and
// search grids that have one part per engine.
//
// Thread-safe. The set owns the engines; tiles, maps and grids refer to it and must not outlive it.
// An engine that has failed once is out of service permanently, so every engine in service has a
// part of every tile, map and grid.

#ifndef VOXLOC_CORE_ENGINE_REPLICA_REPLICA_SET_H_
#define VOXLOC_CORE_ENGINE_REPLICA_REPLICA_SET_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/engine/bound.h"
#include "core/engine/engine.h"
#include "core/map/cells.h"

namespace voxloc {

class ReplicaSet {
 public:
  explicit ReplicaSet(std::vector<std::unique_ptr<Engine>> engines);

  [[nodiscard]] size_t size() const { return engines_.size(); }
  [[nodiscard]] Engine& engine(size_t replica) const { return *engines_[replica]; }

  // Asks the engine for its health.
  [[nodiscard]] bool InService(size_t replica) const;
  [[nodiscard]] std::vector<size_t> InService() const;
  // Unavailable, with what the engines say; for when none is in service.
  [[nodiscard]] absl::Status NoneInServiceError() const;

  // Calls body(0) to body(count - 1), each in a thread, one of them the caller's. Returns when all
  // are done. Where calls throw, the exception of the first index of those is rethrown then.
  static void InParallel(size_t count, absl::FunctionRef<void(size_t)> body);

 private:
  const std::vector<std::unique_ptr<Engine>> engines_;
  mutable std::vector<std::atomic<bool>> failed_;
};

// What each engine keeps of a tile, a map or a search grid. A part is null where the engine was out
// of service when this was made; at least one is not.
template <typename Resident>
class Replicated : public Resident {
 public:
  using Parts = std::vector<std::shared_ptr<const Resident>>;
  Replicated(const ReplicaSet& replicas, Parts parts)
      : replicas_(replicas), parts_(std::move(parts)) {}

  [[nodiscard]] const ReplicaSet& replicas() const { return replicas_; }
  [[nodiscard]] const Parts& all_parts() const { return parts_; }
  // Of the largest part: each engine holds the whole, in memory of its own.
  [[nodiscard]] size_t MemoryBytes() const override {
    size_t bytes = 0;
    for (const auto& part : parts_) {
      if (part != nullptr) bytes = std::max(bytes, part->MemoryBytes());
    }
    return bytes;
  }

 protected:
  // Any part: all hold the same.
  [[nodiscard]] const Resident& any() const {
    size_t i = 0;
    while (parts_[i] == nullptr) ++i;
    return *parts_[i];
  }

 private:
  const ReplicaSet& replicas_;
  const Parts parts_;
};

class ReplicatedTile : public Replicated<ResidentTile> {
 public:
  using Replicated::Replicated;

  [[nodiscard]] size_t points() const override { return any().points(); }
  [[nodiscard]] size_t not_finite() const override { return any().not_finite(); }
  [[nodiscard]] size_t cells() const override { return any().cells(); }
};

class ReplicatedMap : public Replicated<ResidentMap> {
 public:
  using Replicated::Replicated;

  [[nodiscard]] const std::vector<CellStatistics>& statistics() const override {
    return any().statistics();
  }
  [[nodiscard]] size_t cells(size_t statistics_index) const override {
    return any().cells(statistics_index);
  }
  // From the first engine in service.
  [[nodiscard]] absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t statistics_index,
                                                                const Eigen::Vector3d& min,
                                                                const Eigen::Vector3d& max,
                                                                size_t max_cells) const override;
  [[nodiscard]] absl::Span<const std::shared_ptr<const ResidentMap>> parts() const override {
    return all_parts();
  }
};

class ReplicatedBoundGrid : public Replicated<ResidentBoundGrid> {
 public:
  using Replicated::Replicated;

  [[nodiscard]] const BoundGridShape& shape() const override { return any().shape(); }
};

// WorkLedger: the outstanding work of each worker, and how the next batch is split over them.
// Thread-safe.
//
// Work is counted in any unit that is the same for all workers; they are taken to be equally fast.

// Items [begin, end) of a batch, for one worker.
struct WorkAssignment {
  size_t worker = 0;
  size_t begin = 0;
  size_t end = 0;
  uint64_t work = 0;
};

class WorkLedger {
 public:
  explicit WorkLedger(size_t workers) : outstanding_(workers, 0) {}

  // Splits a batch, given by the work of its items, into at most one run of items per worker, so
  // that all workers finish at about the same time. A single item goes to the least busy worker; of
  // equals, the first. Adds the assigned work to the outstanding work, which an exception leaves
  // unchanged. `workers` must not be empty.
  [[nodiscard]] std::vector<WorkAssignment> Split(absl::Span<const uint64_t> items,
                                                  absl::Span<const size_t> workers);
  // The assignment is done; its work becomes 0, so that a second call has no effect.
  void Complete(WorkAssignment& share);

  [[nodiscard]] uint64_t outstanding(size_t worker) const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<uint64_t> outstanding_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_REPLICA_REPLICA_SET_H_
