// SPDX-License-Identifier: Apache-2.0
//
// WorkLedger: who has how much to do, and who gets what of the next batch. Thread-safe.
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
struct WorkShare {
  size_t worker = 0;
  size_t begin = 0;
  size_t end = 0;
  uint64_t work = 0;
};

class WorkLedger {
 public:
  explicit WorkLedger(size_t workers) : outstanding_(workers, 0) {}

  // Splits a batch, given by its items' work, into one run of items for each of `workers` that
  // gets any, so that all have done what they had and what they get at about the same time. A lone
  // item goes to the least busy worker; of equals, the first. Counts the shares as outstanding; an
  // exception leaves what is outstanding as it was. `workers` must not be empty.
  [[nodiscard]] std::vector<WorkShare> Split(absl::Span<const uint64_t> items,
                                             absl::Span<const size_t> workers);
  // The share is done, and has no work from then on: a second time changes nothing.
  void Complete(WorkShare& share);

  [[nodiscard]] uint64_t outstanding(size_t worker) const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<uint64_t> outstanding_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_REPLICA_WORK_LEDGER_H_
