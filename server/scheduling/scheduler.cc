// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/scheduler.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/scheduling/thread_name.h"

namespace voxloc::server {
namespace {

using Clock = std::chrono::steady_clock;

double ElapsedS(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Weight of the newest batch in the running mean of their times.
constexpr double kNewestWeight = 0.2;

// A batch takes some milliseconds.
constexpr absl::Duration kWaitForMemory = absl::Milliseconds(10);

// Batches whose slow estimates may wait; more hold up the worker that brings them.
constexpr size_t kMaxLaterBatches = 64;

// One batch in so many has the devices measure its stages. That takes the host some 5 us, which
// would be 5 % of the alignment of one scan, and is 0.3 % this way; a second of a busy device still
// has hundreds of them.
constexpr uint64_t kBatchesPerTimed = 16;

bool CanEstimate(const AlignJob& job, const AlignResult& result) {
  return result.status.ok() && result.after.matched_points > 0 &&
         JudgeInDetail(result, job.profile).finished;
}

void FailForMemory(ScanTask& task) {
  try {
    task.Fail(absl::ResourceExhaustedError("the server has too little memory for this scan"));
  } catch (const std::bad_alloc&) {  // not even for the answer
  }
}

// Runs a step of a task; where memory runs out, the task fails. False: it is at its end.
template <typename Step>
bool RunStep(ScanTask& task, const Step& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    FailForMemory(task);
    return false;
  }
}

}  // namespace

// A lane's turn: from the time that scans of it are taken until the last of them is at its end.
class Scheduler::Turn {
 public:
  Turn(Scheduler& scheduler, std::shared_ptr<Lane> lane)
      : scheduler_(&scheduler), lane_(std::move(lane)) {}
  Turn(Turn&& other) noexcept = default;
  Turn& operator=(Turn&& other) = delete;
  ~Turn() {
    if (lane_ != nullptr) scheduler_->EndTurn(lane_);
  }

 private:
  Scheduler* scheduler_;
  std::shared_ptr<Lane> lane_;
};

// The scans of one lane in a batch, in their order.
struct Scheduler::Group {
  struct Scan {
    std::unique_ptr<ScanTask> task;  // null once it is at its end
    AlignJob job;
    EstimateRequest estimate;
    AlignResult result;

    [[nodiscard]] bool WantsEstimate() const {
      return estimate.options != nullptr && CanEstimate(job, result);
    }
    [[nodiscard]] EstimateRequest Request() const {
      EstimateRequest request = estimate;
      request.scan = {&job, &result};
      return request;
    }
    void Complete(const ScanEstimate* found, const BatchFacts& facts) {
      static_cast<void>(RunStep(*task, [&] {
        task->Complete(std::move(result), found, facts);
        return true;
      }));
      task.reset();
    }
  };

  Turn turn;  // destroyed after the scans
  std::vector<Scan> scans;

  // Leaves out those that are at their end.
  void DropEnded() {
    scans.erase(std::remove_if(scans.begin(), scans.end(),
                               [](const Scan& scan) { return scan.task == nullptr; }),
                scans.end());
  }
};

namespace {

// Runs a step of all scans; where memory runs out, those that are left fail. False: they have.
template <typename Group, typename Step>
bool RunTogether(std::vector<Group>& groups, const Step& step) {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
  }
  for (Group& group : groups) {
    for (auto& scan : group.scans) {
      if (scan.task == nullptr) continue;
      FailForMemory(*scan.task);
      scan.task.reset();
    }
  }
  return false;
}

template <typename Group>
void DropEmpty(std::vector<Group>& groups) {
  std::vector<Group> left;
  left.reserve(groups.size());
  for (Group& group : groups) {
    group.DropEnded();
    if (!group.scans.empty()) left.push_back(std::move(group));
  }
  groups = std::move(left);
}

}  // namespace

Scheduler::Scheduler(Engine& engine, ThreadPool& host_threads, const Options& options,
                     const Metrics& metrics)
    : engine_(engine),
      host_threads_(host_threads),
      metrics_(metrics),
      options_(options),
      batch_limit_(options.longest_batch_s, host_threads.threads()),
      estimating_("estimating", kMaxLaterBatches, metrics.estimating_queue) {
  for (size_t i = 0; i < std::max<size_t>(options.batches_in_flight, 1); ++i) {
    workers_.emplace_back([this] {
      NameThisThread("tracking");
      Work();
    });
  }
}

Scheduler::~Scheduler() { Stop(); }

std::shared_ptr<Scheduler::Lane> Scheduler::OpenLane(size_t capacity, absl::string_view caller) {
  const absl::MutexLock lock(&mutex_);
  return waiting_.OpenLane(capacity, caller);
}

void Scheduler::Submit(const std::shared_ptr<Lane>& lane, std::unique_ptr<ScanTask> task) {
  std::unique_ptr<ScanTask> displaced;
  std::string refused;
  double retry_after_s = 0.0;
  {
    const absl::MutexLock lock(&mutex_);
    if (FairQueue::IsClosed(*lane) || stopping_) return;
    refused = WhyRefused(*lane, *task);
    if (refused.empty()) {
      displaced = waiting_.Put(lane, std::move(task));
      CountWaiting();
    } else {
      const size_t batches = 1 + waiting_.scans() / LargestBatch();
      retry_after_s = static_cast<double>(batches) * batch_s_;
    }
  }
  // NOLINTNEXTLINE(bugprone-use-after-move): it stayed here where it is refused.
  if (!refused.empty()) task->Refuse(refused, retry_after_s);
  if (displaced != nullptr) displaced->Supersede();
}

void Scheduler::SetLimits(size_t max_queued, size_t max_queued_bytes, size_t max_batch) {
  const absl::MutexLock lock(&mutex_);
  options_.max_queued = max_queued;
  options_.max_queued_bytes = max_queued_bytes;
  options_.max_batch = max_batch;
}

void Scheduler::Close(Lane& lane) {
  std::vector<std::unique_ptr<ScanTask>> dropped;  // destroyed outside the lock
  const absl::MutexLock lock(&mutex_);
  dropped = waiting_.Close(lane);
  CountWaiting();
}

std::string Scheduler::WhyRefused(const Lane& lane, const ScanTask& task) const {
  if (!waiting_.HasRoomFor(lane, task, options_.max_queued, options_.max_queued_bytes)) {
    return absl::StrCat("too many scans wait; the limits are ", options_.max_queued, " scans and ",
                        options_.max_queued_bytes, " bytes, of which each caller has a share");
  }
  // Whole batches before its own; that it may just miss the running one is not counted.
  const size_t batches = waiting_.ScansBefore(lane) / LargestBatch();
  const double wait_s = static_cast<double>(batches) * batch_s_;
  if (batches == 0 || absl::Now() + absl::Seconds(wait_s) <= task.deadline()) return "";
  return absl::StrFormat(
      "too many scans wait; the turn of this one would come in %.3g s, after its deadline", wait_s);
}

size_t Scheduler::LargestBatch() const {
  return std::min(options_.max_batch, batch_limit_.scans());
}

void Scheduler::CountWaiting() const {
  metrics_.tracking_queue.depth.Set(static_cast<double>(waiting_.scans()));
}

void Scheduler::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& worker : workers_) {
    if (worker.joinable()) worker.join();
  }
  estimating_.Stop();
  FairQueue::Lanes dropped;  // destroyed outside the lock
  const absl::MutexLock lock(&mutex_);
  dropped = waiting_.Clear();
}

bool Scheduler::HasWork() const { return stopping_ || !waiting_.empty(); }

std::vector<Scheduler::Group> Scheduler::TakeBatch() {
  std::vector<Group> groups;
  const size_t largest = LargestBatch();
  groups.reserve(std::min(waiting_.ready_lanes(), largest));
  size_t scans = 0;
  size_t points = 0;
  while (scans < largest && points < options_.max_batch_points) {
    const FairQueue::Turn next = waiting_.Next();
    if (next.lane == nullptr) break;
    if (next.place == groups.size()) {
      std::vector<Group::Scan> room;
      try {
        room.reserve(next.waiting);
      } catch (const std::bad_alloc&) {
        if (groups.empty()) throw;  // nothing has been taken
        break;
      }
      groups.push_back(Group{Turn(*this, next.lane), std::move(room)});
    }
    Group::Scan& scan = groups[next.place].scans.emplace_back();
    scan.task = waiting_.TakeNext();
    points += scan.task->points();
    ++scans;
  }
  waiting_.EndBatch();
  CountWaiting();
  return groups;
}

void Scheduler::EndTurn(const std::shared_ptr<Lane>& lane) {
  const absl::MutexLock lock(&mutex_);
  waiting_.EndTurn(lane);
}

void Scheduler::Work() {
  while (true) {
    std::vector<Group> groups;
    try {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Scheduler::HasWork));
      if (stopping_) return;
      groups = TakeBatch();
    } catch (const std::bad_alloc&) {  // the scans wait on; others may give memory back
      absl::SleepFor(kWaitForMemory);
    }
    if (groups.empty()) continue;  // lanes that were closed
    size_t scans = 0;
    for (const Group& group : groups) scans += group.scans.size();
    const Clock::time_point start = Clock::now();
    RunBatch(std::move(groups));
    const double seconds = ElapsedS(start);
    const absl::MutexLock lock(&mutex_);
    batch_s_ += kNewestWeight * (seconds - batch_s_);
    batch_limit_.Ran(scans, seconds);
  }
}

void Scheduler::RunBatch(std::vector<Group> groups) {
  // A pool's threads may not wait for the pool: a lone vehicle's scans are prepared here.
  const bool alone = groups.size() == 1;
  ThreadPool* const idle = alone ? &host_threads_ : nullptr;
  ParallelFor(alone ? nullptr : &host_threads_, groups.size(), [&groups, idle](size_t i) {
    for (Group::Scan& scan : groups[i].scans) {
      if (!RunStep(*scan.task, [&] { return scan.task->Prepare(scan.job, scan.estimate, idle); })) {
        scan.task.reset();
      }
    }
  });
  DropEmpty(groups);
  if (groups.empty()) return;
  BatchFacts facts;
  const bool aligned = RunTogether(groups, [&] { Align(groups, facts); });
  if (!aligned) return;
  Answer(groups, facts);
  DropEmpty(groups);
  if (!groups.empty()) AnswerLater(std::move(groups), facts);
}

void Scheduler::Align(std::vector<Group>& groups, BatchFacts& facts) {
  std::vector<Group::Scan*> scans;
  for (Group& group : groups) {
    for (Group::Scan& scan : group.scans) scans.push_back(&scan);
  }
  std::vector<AlignJob> jobs;
  jobs.reserve(scans.size());
  for (Group::Scan* scan : scans) jobs.push_back(std::move(scan->job));
  // Behind the scans, in their order.
  std::vector<size_t> guessed_twice;
  for (size_t i = 0; i < scans.size(); ++i) {
    const std::optional<Pose> guess = scans[i]->task->SecondGuess();
    if (!guess.has_value()) continue;
    jobs.push_back(WithGuess(jobs[i], *guess));
    guessed_twice.push_back(i);
  }
  facts.size = scans.size();
  if (batches_.fetch_add(1, std::memory_order_relaxed) % kBatchesPerTimed == 0) {
    for (AlignJob& job : jobs) job.want_device_times = true;
  }
  const Clock::time_point start = Clock::now();
  std::vector<AlignResult> results = engine_.Align(jobs);
  facts.align_s = ElapsedS(start);
  facts.align_start = start;
  metrics_.batch_size.Observe(static_cast<double>(facts.size));
  metrics_.stage_align_s.Observe(facts.align_s);
  ObserveDevices(results);
  for (size_t k = 0; k < guessed_twice.size(); ++k) {
    const size_t first = guessed_twice[k];
    const size_t second = scans.size() + k;
    if (!scans[first]->task->PrefersSecond(results[first], results[second])) continue;
    std::swap(jobs[first], jobs[second]);
    std::swap(results[first], results[second]);
  }
  for (size_t i = 0; i < scans.size(); ++i) {
    scans[i]->job = std::move(jobs[i]);
    scans[i]->job.want_device_times = false;  // of what estimates align further
    scans[i]->result = std::move(results[i]);
  }
}

void Scheduler::ObserveDevices(const std::vector<AlignResult>& results) const {
  for (const AlignResult& result : results) {
    if (!result.device_times.has_value() || !result.device_times->leads) continue;
    const DeviceTimes& times = *result.device_times;
    if (times.device >= metrics_.device_stages.size()) continue;
    const DeviceStages& stages = metrics_.device_stages[times.device];
    stages.upload_s.Observe(times.upload_s);
    stages.kernel_s.Observe(times.kernel_s);
    stages.download_s.Observe(times.download_s);
  }
}

void Scheduler::Answer(std::vector<Group>& groups, const BatchFacts& facts) {
  host_threads_.ParallelFor(groups.size(), [&](size_t i) {
    for (Group::Scan& scan : groups[i].scans) {
      BatchFacts own = facts;
      std::optional<ScanEstimate> estimate;
      if (scan.WantsEstimate()) {
        const Clock::time_point start = Clock::now();
        const bool lives = RunStep(*scan.task, [&] {
          estimate = EstimateFromPasses(scan.Request());
          return true;
        });
        own.estimate_s = ElapsedS(start);
        metrics_.stage_estimate_s.Observe(own.estimate_s);
        if (!lives) {
          scan.task.reset();
          continue;
        }
        if (!estimate.has_value()) return;  // and what follows in its lane waits for it
      }
      scan.Complete(estimate.has_value() ? &*estimate : nullptr, own);
    }
  });
}

void Scheduler::AnswerLater(std::vector<Group> groups, const BatchFacts& facts) {
  const auto waiting = std::make_shared<std::vector<Group>>(std::move(groups));
  const bool posted =
      estimating_.Post([this, waiting, facts] { EstimateAndAnswer(*waiting, facts); });
  if (!posted) EstimateAndAnswer(*waiting, facts);
}

void Scheduler::EstimateAndAnswer(std::vector<Group>& groups, const BatchFacts& facts) {
  const bool estimated = RunTogether(groups, [&] { EstimateTogether(groups, facts); });
  static_cast<void>(estimated);
}

void Scheduler::EstimateTogether(std::vector<Group>& groups, const BatchFacts& facts) {
  const Clock::time_point start = Clock::now();
  std::vector<Group::Scan*> scans;
  std::vector<EstimateRequest> requests;
  std::vector<size_t> places;
  for (Group& group : groups) {
    for (Group::Scan& scan : group.scans) {
      if (scan.WantsEstimate()) {
        requests.push_back(scan.Request());
        places.push_back(scans.size());
      }
      scans.push_back(&scan);
    }
  }
  const std::vector<ScanEstimate> found = EstimateScans(engine_, requests, &host_threads_);
  BatchFacts own = facts;
  own.estimate_s = ElapsedS(start);
  metrics_.stage_estimate_s.Observe(own.estimate_s);
  size_t next = 0;
  for (size_t i = 0; i < scans.size(); ++i) {
    const bool estimated = next < places.size() && places[next] == i;
    scans[i]->Complete(estimated ? &found[next] : nullptr, own);
    if (estimated) ++next;
  }
}

}  // namespace voxloc::server
