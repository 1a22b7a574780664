// SPDX-License-Identifier: Apache-2.0
//
// WorkLedger: the outstanding work of each worker, and how the next batch is split over them.
// Thread-safe.
//
// Work is counted in any unit that is the same for all workers; they are taken to be equally fast.

#ifndef VOXLOC_CORE_ENGINE_REPLICA_WORK_LEDGER_H_
#define VOXLOC_CORE_ENGINE_REPLICA_WORK_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace voxloc {

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

#endif  // VOXLOC_CORE_ENGINE_REPLICA_WORK_LEDGER_H_
