// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: brings scans to the engine.
//
// Each session has a Lane, in which a few scans wait; when it is full, the newest takes the oldest
// one's place. One worker takes what waits in all lanes and hands it to the engine as one batch: an
// idle engine starts a scan at once, and while it is busy scans gather for the next call. There is
// no timer. What is estimated of the results is asked of the engine for the whole batch as well,
// and computed on the threads of a pool.
//
// Thread-safe. Nothing here waits for the engine but the worker. Every task gets exactly one of the
// three calls that end it, or is destroyed without one when its lane was closed. The engine and the
// pool must outlive the scheduler.

#ifndef VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_
#define VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"
#include "core/estimate/scan_estimate.h"
#include "core/parallel/thread_pool.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/mailbox.h"

namespace voxloc::server {

// What a task learns about the calls of the engine that it shared.
struct BatchFacts {
  size_t size = 0;  // scans
  double align_s = 0.0;
  double estimate_s = 0.0;
};

// One scan on its way.
class ScanTask {
 public:
  virtual ~ScanTask() = default;

  // On the worker: fills the job, and what is to be estimated of its result: all but the scan.
  // Without options that is nothing; otherwise they live as long as the task. False: the task has
  // answered by itself and is at its end.
  [[nodiscard]] virtual bool Prepare(AlignJob& job, EstimateRequest& estimate) = 0;

  // After Prepare: a second guess that the scan is also aligned from, in the same call of the
  // engine.
  [[nodiscard]] virtual std::optional<Pose> SecondGuess() const { return std::nullopt; }
  // With both results: whether the scan goes on with the second.
  [[nodiscard]] virtual bool PrefersSecond(const AlignResult& /*first*/,
                                           const AlignResult& /*second*/) {
    return false;
  }

  // The ends: aligned, replaced by a newer scan, or refused because too many wait. `estimate` is
  // null where there is nothing to estimate: a result without map cells, or stopped on the way.
  virtual void Complete(AlignResult result, const ScanEstimate* estimate,
                        const BatchFacts& batch) = 0;
  virtual void Supersede() = 0;
  virtual void Refuse(double retry_after_s) = 0;
};

class Scheduler {
 public:
  class Lane;

  struct Options {
    size_t max_queued = 4096;
    size_t max_batch = 1024;
  };

  Scheduler(Engine& engine, ThreadPool& host_threads, const Options& options,
            const Metrics& metrics);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  [[nodiscard]] std::shared_ptr<Lane> OpenLane(size_t capacity) const;

  // Never waits for the engine. May end this task, or an older one, in the calling thread.
  void Submit(const std::shared_ptr<Lane>& lane, std::unique_ptr<ScanTask> task);

  // Destroys what waits in the lane; later submissions to it are destroyed as well.
  void Close(Lane& lane);

  // Returns when the running batch has ended. What waits is destroyed.
  void Stop();

 private:
  using Batch = std::vector<std::unique_ptr<ScanTask>>;

  void Run();
  [[nodiscard]] bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] Batch TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the seconds that it took.
  double RunBatch(Batch batch);

  Engine& engine_;
  ThreadPool& host_threads_;
  const Options options_;
  const Metrics& metrics_;

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Lane>> ready_ ABSL_GUARDED_BY(mutex_);  // lanes in which scans wait
  size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  double batch_s_ ABSL_GUARDED_BY(mutex_) = 0.01;  // running mean
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread worker_;
};

// What waits of one session. Everything in it is the scheduler's.
class Scheduler::Lane {
 public:
  explicit Lane(size_t capacity) : waiting(capacity) {}

 private:
  friend class Scheduler;
  Mailbox<std::unique_ptr<ScanTask>> waiting;
  bool queued = false;  // whether it is among the ready ones
  bool closed = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_
