// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: brings scans to the engine, and their results to an end.
//
// Each session has a Lane, in which a few scans wait; when it is full, the newest takes the oldest
// one's place. Workers take what waits in all lanes and hand it to the engine as one batch: an idle
// engine starts a scan at once, and while all workers are busy scans gather for the next call.
// There is no timer. With two workers a device, one batch is prepared, or answered, while the other
// one is on the device.
//
// A session that sends more than others holds nobody up: a batch that is full has the oldest scan
// of each lane before it has the second of any, and of what may wait a lane has at most an even
// share beside its first scan, with one share left for a newcomer.
//
// Scans are prepared, estimated and answered on the threads of a pool, each answered as soon as its
// own estimates are made. What takes further calls of the engine (MULTI_NDT, directions that are
// not observed, rivals of doubtful results) is done behind the batch, by a thread of its own, and
// holds nobody else up. The scans of a lane keep their order: while one is on its way, the lane has
// no other turn.
//
// Thread-safe. Nothing here waits for the engine but the scheduler's own threads. Every task gets
// exactly one of the calls that end it, or is destroyed without one when its lane was closed. The
// engine and the pool must outlive the scheduler.

#ifndef VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_
#define VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"
#include "core/estimate/scan_estimate.h"
#include "core/parallel/thread_pool.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/mailbox.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// What a task learns about its way.
struct BatchFacts {
  size_t size = 0;  // scans that shared the engine's call
  std::chrono::steady_clock::time_point align_start;
  double align_s = 0.0;
  double estimate_s = 0.0;  // its own
};

// One scan on its way.
class ScanTask {
 public:
  virtual ~ScanTask() = default;

  // What it takes while it waits.
  [[nodiscard]] virtual size_t points() const = 0;
  [[nodiscard]] virtual size_t bytes() const = 0;

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

  // The ends: aligned, replaced by a newer scan, refused because too many wait, or failed for lack
  // of memory. `estimate` is null where there is nothing to estimate: a result without map cells,
  // or stopped on the way.
  virtual void Complete(AlignResult result, const ScanEstimate* estimate,
                        const BatchFacts& batch) = 0;
  virtual void Supersede() = 0;
  virtual void Refuse(double retry_after_s) = 0;
  virtual void Fail(const absl::Status& status) = 0;
};

class Scheduler {
 public:
  class Lane;

  struct Options {
    size_t max_queued = 4096;             // scans that wait
    size_t max_queued_bytes = 1U << 30U;  // of them
    size_t max_batch = 1024;              // scans
    size_t max_batch_points = 1U << 22U;  // of them; a single scan may have more
    size_t batches_in_flight = 1;
  };

  Scheduler(Engine& engine, ThreadPool& host_threads, const Options& options,
            const Metrics& metrics);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  [[nodiscard]] std::shared_ptr<Lane> OpenLane(size_t capacity) const;

  // Never waits for the engine. May end this task, or an older one, in the calling thread.
  void Submit(const std::shared_ptr<Lane>& lane, std::unique_ptr<ScanTask> task);

  // As of Options. What waits stays.
  void SetLimits(size_t max_queued, size_t max_queued_bytes, size_t max_batch);

  // Destroys what waits in the lane; later submissions to it are destroyed as well.
  void Close(Lane& lane);

  // Returns when the running batches have ended. What waits is destroyed.
  void Stop();

 private:
  class Turn;
  struct Group;

  void Work();
  [[nodiscard]] bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::vector<Group> TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddToReady(const std::shared_ptr<Lane>& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool HasRoomFor(const Lane& lane, const ScanTask& task) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the scan that had to give way, or null.
  [[nodiscard]] std::unique_ptr<ScanTask> Put(Lane& lane, std::unique_ptr<ScanTask> task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::unique_ptr<ScanTask> Take(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountQueued(Lane& lane, const ScanTask& task, bool added)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndTurn(const std::shared_ptr<Lane>& lane);

  void RunBatch(std::vector<Group> groups);
  void Align(std::vector<Group>& groups, BatchFacts& facts);
  // Answers what needs no further call of the engine; the rest stays.
  void Answer(std::vector<Group>& groups, const BatchFacts& facts);
  void AnswerLater(std::vector<Group> groups, const BatchFacts& facts);
  void EstimateAndAnswer(std::vector<Group>& groups, const BatchFacts& facts);
  void EstimateTogether(std::vector<Group>& groups, const BatchFacts& facts);

  Engine& engine_;
  ThreadPool& host_threads_;
  const Metrics& metrics_;

  absl::Mutex mutex_;
  Options options_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Lane>> ready_ ABSL_GUARDED_BY(mutex_);  // lanes in which scans wait
  size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t waiting_lanes_ ABSL_GUARDED_BY(mutex_) = 0;  // in which scans wait
  double batch_s_ ABSL_GUARDED_BY(mutex_) = 0.01;     // running mean
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  WorkQueue estimating_;
  std::vector<std::thread> workers_;
};

// What waits of one session. Everything in it is the scheduler's.
class Scheduler::Lane {
 public:
  explicit Lane(size_t capacity) : waiting(capacity) {}

 private:
  friend class Scheduler;
  Mailbox<std::unique_ptr<ScanTask>> waiting;
  size_t bytes = 0;      // of the scans that wait
  bool queued = false;   // whether it is among the ready ones
  bool running = false;  // whether scans of it are on their way
  bool closed = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_
