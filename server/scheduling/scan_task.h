// SPDX-License-Identifier: Apache-2.0
//
// ScanTask: one scan on its way through the Scheduler, as the scheduler sees it. Used by one thread
// at a time. Every task gets exactly one of the calls that end it, or is destroyed without one when
// it is submitted to a lane that was closed, or the scheduler stops.

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
#include "core/parallel/thread_pool.h"

namespace voxloc::server {

// What a task learns about its way.
struct BatchFacts {
  size_t size = 0;  // scans that shared the engine's call
  std::chrono::steady_clock::time_point align_start;
  double align_s = 0.0;
  // Of its own estimates; the clock's zero where there are none.
  std::chrono::steady_clock::time_point estimate_start;
};

class ScanTask {
 public:
  virtual ~ScanTask() = default;

  // What it takes while it waits.
  [[nodiscard]] virtual size_t points() const = 0;
  [[nodiscard]] virtual size_t bytes() const = 0;
  // Nobody wants its result after that.
  [[nodiscard]] virtual absl::Time deadline() const { return absl::InfiniteFuture(); }
  // Whether nobody wants its result any more: the client has gone. Such a task is given up before
  // its next stage.
  [[nodiscard]] virtual bool abandoned() const { return false; }

  // On a thread of the pool: fills the job, and what is to be estimated of its result: all but the
  // scan. Without options that is nothing; otherwise they live as long as the task. `idle` are
  // threads that no other scan of the batch needs, or null. False: the task has answered by itself
  // and is at its end.
  [[nodiscard]] virtual bool Prepare(AlignJob& job, EstimateRequest& estimate,
                                     ThreadPool* idle) = 0;

  // After Prepare: a second guess that the scan is also aligned from, in the same call of the
  // engine.
  [[nodiscard]] virtual std::optional<Pose> SecondGuess() const { return std::nullopt; }
  // With both results: whether the scan goes on with the second.
  [[nodiscard]] virtual bool PrefersSecond(const AlignResult& /*first*/,
                                           const AlignResult& /*second*/) {
    return false;
  }

  // The ends: aligned, replaced by a newer scan, refused because too many wait (`why`), failed for
  // lack of memory, or given up because its lane was closed or it is abandoned. `estimate` is null
  // where there is nothing to estimate: a result without map cells, or stopped on the way.
  virtual void Complete(AlignResult result, const ScanEstimate* estimate,
                        const BatchFacts& batch) = 0;
  virtual void Supersede() = 0;
  virtual void Refuse(absl::string_view why, double retry_after_s) = 0;
  virtual void Fail(const absl::Status& status) = 0;
  virtual void GiveUp() = 0;
};

// A task in a batch, with what it asks of the engine and the answer.
struct ScanInBatch {
  std::unique_ptr<ScanTask> task;  // null once it is at its end
  AlignJob job;
  EstimateRequest estimate;
  AlignResult result;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_SCAN_TASK_H_
