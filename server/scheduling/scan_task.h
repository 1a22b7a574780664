// SPDX-License-Identifier: Apache-2.0
//
// ScanTask: one scan in the Scheduler. Used by one thread at a time. Every task gets exactly one of
// its final calls, or is destroyed without one where it is submitted to a closed lane or the
// scheduler stops.

#ifndef VOXLOC_SERVER_SCHEDULING_SCAN_TASK_H_
#define VOXLOC_SERVER_SCHEDULING_SCAN_TASK_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/engine/align.h"
#include "core/estimate/scan_estimate.h"

namespace voxloc::server {

// The batch that a task was aligned in.
struct BatchFacts {
  size_t size = 0;  // scans that shared the engine's call
  std::chrono::steady_clock::time_point align_start;
  double align_s = 0.0;
  // The start of its own estimates; the clock's zero where there are none.
  std::chrono::steady_clock::time_point estimate_start;
};

class ScanTask {
 public:
  virtual ~ScanTask() = default;

  // What it counts for in the queue's limits.
  [[nodiscard]] virtual size_t points() const = 0;
  [[nodiscard]] virtual size_t bytes() const = 0;
  // After it the result is of no use.
  [[nodiscard]] virtual absl::Time deadline() const { return absl::InfiniteFuture(); }
  // Whether the client has gone. Such a task is cancelled before its next stage.
  [[nodiscard]] virtual bool abandoned() const { return false; }

  // On a thread of the pool: fills the job and the request for estimates (all but its scan; without
  // options nothing is estimated; options must live as long as the task). False: the task has
  // replied itself and is finished.
  [[nodiscard]] virtual bool Prepare(AlignJob& job, EstimateRequest& estimate) = 0;

  // After Prepare: a second guess that the scan is also aligned from, in the same call of the
  // engine.
  [[nodiscard]] virtual std::optional<Pose> SecondGuess() const { return std::nullopt; }
  // With both results: whether the second one is used.
  [[nodiscard]] virtual bool PrefersSecond(const AlignResult& /*first*/,
                                           const AlignResult& /*second*/) {
    return false;
  }

  // The final calls: aligned; replaced by a newer scan; rejected because too many wait (`why`); out
  // of memory; cancelled because its lane was closed or it is abandoned. `estimate` is null where
  // there is nothing to estimate: a result without map cells, or of a stopped alignment.
  virtual void Complete(AlignResult result, const ScanEstimate* estimate,
                        const BatchFacts& batch) = 0;
  virtual void Supersede() = 0;
  virtual void Reject(absl::string_view why, double retry_after_s) = 0;
  virtual void Fail(const absl::Status& status) = 0;
  virtual void Cancel() = 0;
};

// A task in a batch, with its job, its request for estimates and its result.
struct ScanInBatch {
  std::unique_ptr<ScanTask> task;  // null once it is finished
  AlignJob job;
  EstimateRequest estimate;
  AlignResult result;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_SCAN_TASK_H_
