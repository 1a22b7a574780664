// SPDX-License-Identifier: Apache-2.0
//
// One file, because the batches and the estimates behind them share one lock and its invariants.

#include "server/scheduling/scheduler.h"

#include <new>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/parallel/this_thread.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

using Clock = std::chrono::steady_clock;

// Weight of the newest batch in the running mean of their times.
constexpr double kNewestWeight = 0.2;

// A batch takes some milliseconds.
constexpr absl::Duration kOutOfMemoryRetryDelay = absl::Milliseconds(10);

// Lanes that may wait for the second stage, shared by the callers (FairQueue): as many as two
// batches of the largest size have, and at least kMinSecondStageLanes.
constexpr size_t kSecondStageBatches = 2;
constexpr size_t kMinSecondStageLanes = 64;
// No batch is taken while kMaxSecondStageFactor * SecondStageCapacity() lanes or more wait there.
constexpr size_t kMaxSecondStageFactor = 8;

// One batch in so many has the devices measure its stages. That takes the host some 5 us, which
// would be 5 % of the alignment of one scan, and is 0.3 % this way; a second of a busy device still
// has hundreds of them.
constexpr uint64_t kBatchesPerTimed = 16;

// Whether an aligned scan needs estimates.
bool NeedsEstimate(const ScanInBatch& scan) {
  return scan.task != nullptr && scan.estimate.options != nullptr && scan.result.status.ok() &&
         scan.result.after.matched_points > 0 &&
         JudgeInDetail(scan.result, scan.job.profile).finished;
}

EstimateRequest RequestOf(const ScanInBatch& scan) {
  EstimateRequest request = scan.estimate;
  request.scan = {&scan.job, &scan.result};
  return request;
}

// Finishes a task that is not finished. Where memory runs out even for that, there is no reply.
template <typename End>
void EndTask(std::unique_ptr<ScanTask>& task, const End& end) {
  if (task == nullptr) return;
  try {
    end(*task);
  } catch (const std::bad_alloc&) {
  }
  task.reset();
}

void Cancel(std::unique_ptr<ScanTask>& task) {
  EndTask(task, [](ScanTask& one) { one.Cancel(); });
}

void FailOutOfMemory(std::unique_ptr<ScanTask>& task) {
  EndTask(task, [](ScanTask& one) {
    one.Fail(absl::ResourceExhaustedError("the server has too little memory for this scan"));
  });
}

void Cancel(std::vector<ScanInBatch>& scans) {
  for (ScanInBatch& scan : scans) Cancel(scan.task);
}

void FailOutOfMemory(std::vector<ScanInBatch>& scans) {
  for (ScanInBatch& scan : scans) FailOutOfMemory(scan.task);
}

// Runs a step of a scan; where memory runs out, the scan fails.
template <typename Step>
void RunStep(ScanInBatch& scan, const Step& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    FailOutOfMemory(scan.task);
  }
}

void Complete(ScanInBatch& scan, const ScanEstimate* estimate, const BatchFacts& facts) {
  if (scan.task == nullptr) return;
  RunStep(scan, [&] { scan.task->Complete(std::move(scan.result), estimate, facts); });
  scan.task.reset();
}

void CancelAbandoned(std::vector<ScanInBatch>& scans) {
  for (ScanInBatch& scan : scans) {
    if (scan.task != nullptr && scan.task->abandoned()) Cancel(scan.task);
  }
}

// Cancels scans whose client has gone, and removes finished scans and groups without scans.
template <typename Group>
void DropEnded(std::vector<Group>& groups) {
  for (Group& group : groups) {
    CancelAbandoned(group.scans);
    group.scans.erase(std::remove_if(group.scans.begin(), group.scans.end(),
                                     [](const ScanInBatch& scan) { return scan.task == nullptr; }),
                      group.scans.end());
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const Group& group) { return group.scans.empty(); }),
               groups.end());
}

}  // namespace

Scheduler::Scheduler(Engine& engine, ThreadPool& host_threads, const Options& options,
                     const Metrics& metrics)
    : engine_(engine),
      host_threads_(host_threads),
      metrics_(metrics),
      options_(options),
      batch_limit_(options.max_batch_s, host_threads.threads()),
      second_stage_limit_(options.max_batch_s, host_threads.threads()) {
  for (size_t i = 0; i < std::max<size_t>(options.batches_in_flight, 1); ++i) {
    workers_.emplace_back([this] {
      SetThreadName("tracking");
      Work();
    });
  }
  estimating_ = std::thread([this] {
    SetThreadName("estimating");
    RunSecondStage();
  });
}

std::shared_ptr<Scheduler::Lane> Scheduler::OpenLane(size_t capacity, absl::string_view caller) {
  const absl::MutexLock lock(&mutex_);
  return waiting_.OpenLane(capacity, caller);
}

void Scheduler::Submit(const std::shared_ptr<Lane>& lane, std::unique_ptr<ScanTask> task) {
  std::unique_ptr<ScanTask> displaced;
  std::string refused;
  double retry_after_s = 0.0;
  try {
    const absl::MutexLock lock(&mutex_);
    if (FairQueue::IsClosed(*lane) || stopping_) return;
    refused = RejectionDetail(*lane, *task);
    if (refused.empty()) {
      displaced = waiting_.Put(lane, std::move(task));
      CountWaiting();
    } else {
      const size_t batches = 1 + waiting_.scans() / LargestBatch();
      retry_after_s = static_cast<double>(batches) * batch_s_;
    }
  } catch (const std::bad_alloc&) {  // the scan does not wait
    FailOutOfMemory(task);
  }
  // NOLINTNEXTLINE(bugprone-use-after-move): it stayed here where it is refused.
  if (!refused.empty()) task->Reject(refused, retry_after_s);
  if (displaced != nullptr) displaced->Supersede();
}

void Scheduler::SetLimits(size_t max_queued, size_t max_queued_bytes, size_t max_batch) {
  const absl::MutexLock lock(&mutex_);
  options_.max_queued = max_queued;
  options_.max_queued_bytes = max_queued_bytes;
  options_.max_batch = max_batch;
}

void Scheduler::Close(Lane& lane) {
  GroupsByRound estimated;  // of the lane, one at most; destroyed outside the lock
  while (true) {
    std::unique_ptr<ScanTask> waited;
    {
      const absl::MutexLock lock(&mutex_);
      waited = waiting_.Close(lane);
      const auto [first, last] = second_stage_.equal_range(FairQueue::RoundOf(lane));
      const auto at = std::find_if(
          first, last, [&lane](const auto& one) { return &one.second.turn.lane() == &lane; });
      if (at != last) estimated.insert(second_stage_.extract(at));
      CountWaiting();
    }
    if (waited == nullptr) break;
    Cancel(waited);
  }
  for (auto& [round, group] : estimated) Cancel(group.scans);
}

std::string Scheduler::RejectionDetail(const Lane& lane, const ScanTask& task) const {
  if (!waiting_.HasCapacityFor(lane, task, options_.max_queued, options_.max_queued_bytes)) {
    return absl::StrCat("too many scans wait; the limits are ", options_.max_queued, " scans and ",
                        options_.max_queued_bytes, " bytes, of which each caller has a share");
  }
  // Whole batches ahead of it, without the running one.
  const size_t batches = waiting_.ScansAhead(lane) / LargestBatch();
  const double wait_s = static_cast<double>(batches) * batch_s_;
  if (batches == 0 || absl::Now() + absl::Seconds(wait_s) <= task.deadline()) return "";
  return absl::StrFormat(
      "too many scans wait; the turn of this one would come in %.3g s, after its deadline", wait_s);
}

size_t Scheduler::SecondStageCapacity() const {
  return std::max(kMinSecondStageLanes, kSecondStageBatches * LargestBatch());
}

void Scheduler::CountWaiting() const {
  metrics_.tracking_queue.depth.Set(static_cast<double>(waiting_.scans()));
  metrics_.estimating_queue.depth.Set(static_cast<double>(second_stage_.size()));
}

void Scheduler::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& worker : workers_) {
    if (worker.joinable()) worker.join();
  }
  if (estimating_.joinable()) estimating_.join();
  GroupsByRound second_stage;
  {
    const absl::MutexLock lock(&mutex_);
    second_stage.swap(second_stage_);
  }
  second_stage.clear();  // ends the turns of lanes
  while (true) {
    std::shared_ptr<Lane> dropped;  // destroyed outside the lock
    const absl::MutexLock lock(&mutex_);
    dropped = waiting_.PopLane();
    if (dropped == nullptr) return;
  }
}

bool Scheduler::HasWork() const {
  return stopping_ || (!waiting_.empty() &&
                       second_stage_.size() < kMaxSecondStageFactor * SecondStageCapacity());
}

std::vector<Scheduler::Group> Scheduler::TakeBatch() {
  const size_t largest = LargestBatch();
  std::vector<Group> groups;
  groups.reserve(std::min(largest, waiting_.scans()));  // before anything is taken
  for (FairQueue::Group& group : waiting_.TakeBatch(largest, options_.max_batch_points)) {
    groups.push_back({Turn(*this, std::move(group.lane)), std::move(group.scans)});
  }
  CountWaiting();
  return groups;
}

void Scheduler::Work() {
  while (true) {
    std::vector<Group> groups;
    try {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Scheduler::HasWork));
      if (stopping_) return;
      groups = TakeBatch();
    } catch (const std::bad_alloc&) {  // the scans stay queued; memory may be freed meanwhile
      absl::SleepFor(kOutOfMemoryRetryDelay);
    }
    if (groups.empty()) continue;
    size_t scans = 0;
    for (const Group& group : groups) scans += group.scans.size();
    const Clock::time_point start = Clock::now();
    RunBatch(std::move(groups));
    const double seconds = ToSeconds(Clock::now() - start);
    const absl::MutexLock lock(&mutex_);
    batch_s_ += kNewestWeight * (seconds - batch_s_);
    batch_limit_.RecordBatch(scans, seconds);
  }
}

void Scheduler::RunBatch(std::vector<Group> groups) {
  DropEnded(groups);
  host_threads_.ParallelFor(groups.size(), [&groups](size_t i) {
    for (ScanInBatch& scan : groups[i].scans) {
      if (scan.task == nullptr) continue;
      RunStep(scan, [&] {
        if (!scan.task->Prepare(scan.job, scan.estimate)) scan.task.reset();
      });
    }
  });
  DropEnded(groups);
  if (groups.empty()) return;
  BatchFacts facts;
  try {
    Align(groups, facts);
  } catch (const std::bad_alloc&) {
    for (Group& group : groups) FailOutOfMemory(group.scans);
    return;
  }
  DropEnded(groups);
  Answer(groups, facts);
  DropEnded(groups);
  for (Group& group : groups) EnqueueSecondStage(std::move(group), facts);
}

void Scheduler::Align(std::vector<Group>& groups, BatchFacts& facts) {
  std::vector<ScanInBatch*> scans;
  for (Group& group : groups) {
    for (ScanInBatch& scan : group.scans) scans.push_back(&scan);
  }
  std::vector<AlignJob> jobs;
  jobs.reserve(scans.size());
  for (ScanInBatch* scan : scans) jobs.push_back(std::move(scan->job));
  // Behind the scans, in their order.
  std::vector<size_t> with_second_guess;
  for (size_t i = 0; i < scans.size(); ++i) {
    const std::optional<Pose> guess = scans[i]->task->SecondGuess();
    if (!guess.has_value()) continue;
    jobs.push_back(WithGuess(jobs[i], *guess));
    with_second_guess.push_back(i);
  }
  facts.size = scans.size();
  if (batches_.fetch_add(1, std::memory_order_relaxed) % kBatchesPerTimed == 0) {
    for (AlignJob& job : jobs) job.with_device_times = true;
  }
  const Clock::time_point start = Clock::now();
  std::vector<AlignResult> results = engine_.Align(jobs);
  facts.align_s = ToSeconds(Clock::now() - start);
  facts.align_start = start;
  metrics_.batch_size.Observe(static_cast<double>(facts.size));
  metrics_.stage_align_s.Observe(facts.align_s);
  ObserveDevices(results);
  for (size_t k = 0; k < with_second_guess.size(); ++k) {
    const size_t first = with_second_guess[k];
    const size_t second = scans.size() + k;
    if (!scans[first]->task->PrefersSecond(results[first], results[second])) continue;
    std::swap(jobs[first], jobs[second]);
    std::swap(results[first], results[second]);
  }
  for (size_t i = 0; i < scans.size(); ++i) {
    scans[i]->job = std::move(jobs[i]);
    scans[i]->job.with_device_times = false;  // of what estimates align further
    scans[i]->result = std::move(results[i]);
  }
}

void Scheduler::ObserveDevices(const std::vector<AlignResult>& results) const {
  for (const AlignResult& result : results) {
    if (!result.device_times.has_value() || !result.device_times->first_of_launch) continue;
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
    for (ScanInBatch& scan : groups[i].scans) {
      if (scan.task == nullptr) continue;
      BatchFacts own = facts;
      std::optional<ScanEstimate> estimate;
      if (NeedsEstimate(scan)) {
        own.estimate_start = Clock::now();
        RunStep(scan, [&] { estimate = EstimateFromPasses(RequestOf(scan)); });
        metrics_.stage_estimate_s.Observe(ToSeconds(Clock::now() - own.estimate_start));
        if (scan.task == nullptr) continue;
        if (!estimate.has_value()) return;  // and what follows in its lane waits for it
      }
      Complete(scan, estimate.has_value() ? &*estimate : nullptr, own);
    }
  });
}

void Scheduler::EnqueueSecondStage(Group group, const BatchFacts& facts) {
  group.facts = facts;
  group.waits_since = Clock::now();
  try {
    const absl::MutexLock lock(&mutex_);
    if (!FairQueue::IsClosed(group.turn.lane())) {
      const uint64_t round = waiting_.BeginSecondStage(group.turn.lane(), SecondStageCapacity());
      second_stage_.emplace(round, std::move(group));  // where it throws, the group stays here
      CountWaiting();
      return;
    }
  } catch (const std::bad_alloc&) {
    FailOutOfMemory(group.scans);
  }
  Cancel(group.scans);
}

void Scheduler::RunSecondStage() {
  while (true) {
    GroupsByRound batch;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Scheduler::HasSecondStageWork));
      if (stopping_) return;
      const size_t largest = std::min(options_.max_batch, second_stage_limit_.scans());
      while (!second_stage_.empty() && batch.size() < largest) {
        waiting_.SetRound(second_stage_.begin()->first);
        batch.insert(second_stage_.extract(second_stage_.begin()));
      }
      CountWaiting();
    }
    const size_t lanes = batch.size();
    const Clock::time_point start = Clock::now();
    for (auto& [round, group] : batch) {
      metrics_.estimating_queue.wait_s.Observe(ToSeconds(start - group.waits_since));
      CancelAbandoned(group.scans);
    }
    try {
      EstimateBatch(batch);
    } catch (const std::bad_alloc&) {
      for (auto& [round, group] : batch) FailOutOfMemory(group.scans);
    }
    batch.clear();  // ends the turns of lanes
    const absl::MutexLock lock(&mutex_);
    second_stage_limit_.RecordBatch(lanes, ToSeconds(Clock::now() - start));
  }
}

void Scheduler::EstimateBatch(GroupsByRound& batch) {
  const Clock::time_point start = Clock::now();
  std::vector<EstimateRequest> requests;
  for (const auto& [round, group] : batch) {
    for (const ScanInBatch& scan : group.scans) {
      if (NeedsEstimate(scan)) requests.push_back(RequestOf(scan));
    }
  }
  std::vector<ScanEstimate> found;
  if (!requests.empty()) {
    found = EstimateScans(engine_, requests, &host_threads_);
    metrics_.stage_estimate_s.Observe(ToSeconds(Clock::now() - start));
  }
  size_t next = 0;
  for (auto& [round, group] : batch) {
    group.facts.estimate_start = start;
    for (ScanInBatch& scan : group.scans) {
      Complete(scan, NeedsEstimate(scan) ? &found[next++] : nullptr, group.facts);
    }
  }
}

}  // namespace voxloc::server
