// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: batches scans for the engine, and completes them with their results.
//
// Scans wait in lanes, one per session; in a full lane the newest scan replaces the oldest. Workers
// take the scans that wait in all lanes and pass them to the engine as one batch: an idle engine
// starts a scan at once, and while all workers are busy scans gather for the next batch. There is
// no timer. Batches are kept short, since their replies leave together (BatchLimit). With two
// workers per device, one batch is prepared or answered while the other one is on the device.
// Callers and their lanes have equal shares of the queue and of a full batch (FairQueue). A scan
// whose turn would come after its deadline is rejected at once.
//
// Scans are prepared, estimated and answered on the threads of a pool, each answered as soon as its
// own estimates are made. What takes further calls of the engine (MULTI_NDT, directions that are
// not observed, rivals of doubtful results) is the second stage: it runs after the batch, on its
// own thread, and delays no other scan. It works in short batches too, in which callers have equal
// shares; a caller with more than its share waiting there has no scans aligned meanwhile. The scans
// of a lane keep their order: a lane has one turn at a time.
//
// Scans whose client has gone are cancelled: at once while they wait, otherwise between stages.
//
// Thread-safe. Only the scheduler's own threads block on the engine. Every task gets exactly one of
// its final calls, see ScanTask. The engine and the pool must outlive the scheduler.

#ifndef VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_
#define VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"
#include "core/parallel/thread_pool.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/fair_queue.h"
#include "server/scheduling/scan_task.h"

namespace voxloc::server {

// BatchLimit: the number of scans per batch that keeps batches within a given time.
//
// All replies of a batch wait for its end, and scans that arrive meanwhile wait for the next batch.
// After a batch of n scans that took t seconds the limit is n * max_batch_s / t, at most 2 * n;
// a batch in time that was not full leaves it unchanged. Not thread-safe.
class BatchLimit {
 public:
  // Batches should take at most `max_batch_s` seconds; the limit is at least `min_scans`.
  BatchLimit(double max_batch_s, size_t min_scans)
      : max_batch_s_(max_batch_s), min_scans_(std::max<size_t>(min_scans, 1)) {}

  [[nodiscard]] size_t scans() const { return scans_; }

  // A batch of `scans` has taken `seconds`.
  void RecordBatch(size_t scans, double seconds) {
    if (scans == 0 || (seconds <= max_batch_s_ && scans < scans_)) return;
    const double in_time =
        static_cast<double>(scans) * max_batch_s_ / std::max(seconds, kClockTick_s);
    // The time of a batch is not proportional to its scans: it grows by doubling.
    const double most = std::min(in_time, 2.0 * static_cast<double>(scans_));
    scans_ = most < kMaxScans ? std::max(static_cast<size_t>(most), min_scans_) : kUnlimited;
  }

 private:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();
  // Far above what any batch has (`limits.max_batch`), and exact as a double.
  static constexpr double kMaxScans = 1e9;
  static constexpr double kClockTick_s = 1e-9;

  const double max_batch_s_;
  const size_t min_scans_;
  size_t scans_ = kUnlimited;
};

class Scheduler {
 public:
  using Lane = FairQueue::Lane;

  struct Options {
    size_t max_queued = 4096;             // scans that wait
    size_t max_queued_bytes = 1U << 30U;  // of them
    size_t max_batch = 1024;              // scans
    size_t max_batch_points = 1U << 22U;  // of them; a single scan may have more
    size_t batches_in_flight = 1;
    // A batch has fewer scans where it would take longer: see BatchLimit.
    double max_batch_s = std::numeric_limits<double>::infinity();
  };

  Scheduler(Engine& engine, ThreadPool& host_threads, const Options& options,
            const Metrics& metrics);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() { Stop(); }

  // A lane of the caller of this name; all its lanes together have one share. Empty: a caller of
  // its own.
  [[nodiscard]] std::shared_ptr<Lane> OpenLane(size_t capacity, absl::string_view caller = {});

  // Never waits for the engine. May end this task, or an older one, in the calling thread.
  void Submit(const std::shared_ptr<Lane>& lane, std::unique_ptr<ScanTask> task);

  // As of Options. What waits stays.
  void SetLimits(size_t max_queued, size_t max_queued_bytes, size_t max_batch);

  // Cancels what waits in the lane, in the calling thread; later submissions to it are destroyed.
  void Close(Lane& lane);

  // Returns when the running batches have ended. What waits is destroyed.
  void Stop();

 private:
  // A lane's turn: from when scans of it are taken until the last of them is finished.
  class Turn {
   public:
    Turn(Scheduler& scheduler, std::shared_ptr<Lane> lane)
        : scheduler_(&scheduler), lane_(std::move(lane)) {}
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&& other) noexcept {
      std::swap(lane_, other.lane_);
      return *this;
    }
    ~Turn() {
      if (lane_ != nullptr) scheduler_->EndTurn(lane_);
    }
    [[nodiscard]] Lane& lane() const { return *lane_; }

   private:
    Scheduler* scheduler_;
    std::shared_ptr<Lane> lane_;
  };
  // The scans of a lane in a batch, in their order.
  struct Group {
    Turn turn;  // destroyed after the scans
    std::vector<ScanInBatch> scans;
    // Set for the second stage.
    BatchFacts facts = {};
    std::chrono::steady_clock::time_point waits_since = {};
  };
  using GroupsByRound = std::multimap<uint64_t, Group>;

  void Work();
  [[nodiscard]] bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::vector<Group> TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why a scan is rejected; empty: it may wait.
  [[nodiscard]] std::string RejectionDetail(const Lane& lane, const ScanTask& task) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] size_t LargestBatch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::min(options_.max_batch, batch_limit_.scans());
  }
  [[nodiscard]] size_t SecondStageCapacity() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountWaiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndTurn(const std::shared_ptr<Lane>& lane) {
    const absl::MutexLock lock(&mutex_);
    waiting_.EndTurn(lane);
  }

  void RunBatch(std::vector<Group> groups);
  void Align(std::vector<Group>& groups, BatchFacts& facts);
  void ObserveDevices(const std::vector<AlignResult>& results) const;
  // Completes scans that need no further call of the engine; the others stay.
  void Answer(std::vector<Group>& groups, const BatchFacts& facts);
  void EnqueueSecondStage(Group group, const BatchFacts& facts);

  // The thread of the second stage.
  void RunSecondStage();
  [[nodiscard]] bool HasSecondStageWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !second_stage_.empty();
  }
  void EstimateBatch(GroupsByRound& batch);

  Engine& engine_;
  ThreadPool& host_threads_;
  const Metrics& metrics_;

  absl::Mutex mutex_;
  Options options_ ABSL_GUARDED_BY(mutex_);
  FairQueue waiting_ ABSL_GUARDED_BY(mutex_);
  double batch_s_ ABSL_GUARDED_BY(mutex_) = 0.01;  // running mean
  BatchLimit batch_limit_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> batches_{0};                    // aligned so far
  GroupsByRound second_stage_ ABSL_GUARDED_BY(mutex_);  // wait for slow estimates
  BatchLimit second_stage_limit_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;
  std::thread estimating_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_SCHEDULER_H_
