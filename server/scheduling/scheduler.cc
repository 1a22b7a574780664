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

// Lanes whose slow estimates may wait, of which callers have even shares (FairQueue): as many as
// two of the largest batches have, and some where batches are small.
constexpr size_t kSharedLaterBatches = 2;
constexpr size_t kLeastSharedLater = 64;
// Times as many wait: nothing is aligned until there are fewer, whoever they are of.
constexpr size_t kMostLaterShares = 8;

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

void GiveUpTask(ScanTask& task) {
  try {
    task.GiveUp();
  } catch (const std::bad_alloc&) {  // as above
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
  [[nodiscard]] Lane& lane() const { return *lane_; }
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

  void GiveUp() {
    for (Scan& scan : scans) {
      if (scan.task != nullptr) GiveUpTask(*scan.task);
      scan.task.reset();
    }
  }
  void Fail() {
    for (Scan& scan : scans) {
      if (scan.task != nullptr) FailForMemory(*scan.task);
      scan.task.reset();
    }
  }
  void GiveUpAbandoned() {
    for (Scan& scan : scans) {
      if (scan.task == nullptr || !scan.task->abandoned()) continue;
      GiveUpTask(*scan.task);
      scan.task.reset();
    }
  }

  // Leaves out those that are at their end.
  void DropEnded() {
    scans.erase(std::remove_if(scans.begin(), scans.end(),
                               [](const Scan& scan) { return scan.task == nullptr; }),
                scans.end());
  }
};

// A lane's scans that wait for slow estimates, with those of the lane that follow them.
struct Scheduler::Later {
  Later(Group& from, const BatchFacts& of_batch) : group(std::move(from)), facts(of_batch) {}

  Group group;
  BatchFacts facts;
  const Clock::time_point since = Clock::now();
};

namespace {

template <typename Group>
void GiveUpAbandoned(std::vector<Group>& groups) {
  for (Group& group : groups) group.GiveUpAbandoned();
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
      later_limit_(options.longest_batch_s, host_threads.threads()) {
  for (size_t i = 0; i < std::max<size_t>(options.batches_in_flight, 1); ++i) {
    workers_.emplace_back([this] {
      NameThisThread("tracking");
      Work();
    });
  }
  estimating_ = std::thread([this] {
    NameThisThread("estimating");
    WorkLater();
  });
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
  std::vector<std::unique_ptr<ScanTask>> waited;
  std::unique_ptr<Later> later;  // destroyed outside the lock
  {
    const absl::MutexLock lock(&mutex_);
    waited = waiting_.Close(lane);
    const auto [first, last] = later_.equal_range(FairQueue::RoundOf(lane));
    const auto at = std::find_if(
        first, last, [&lane](const auto& one) { return &one.second->group.turn.lane() == &lane; });
    if (at != last) {
      later = std::move(at->second);
      later_.erase(at);
    }
    CountWaiting();
  }
  for (const auto& task : waited) GiveUpTask(*task);
  if (later != nullptr) later->group.GiveUp();
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

size_t Scheduler::SharedLater() const {
  return std::max(kLeastSharedLater, kSharedLaterBatches * LargestBatch());
}

void Scheduler::CountWaiting() const {
  metrics_.tracking_queue.depth.Set(static_cast<double>(waiting_.scans()));
  metrics_.estimating_queue.depth.Set(static_cast<double>(later_.size()));
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
  LaterByRound later;
  {
    const absl::MutexLock lock(&mutex_);
    later.swap(later_);
  }
  later.clear();             // ends the turns of lanes
  FairQueue::Lanes dropped;  // destroyed outside the lock
  const absl::MutexLock lock(&mutex_);
  dropped = waiting_.Clear();
}

bool Scheduler::HasWork() const {
  return stopping_ || (!waiting_.empty() && later_.size() < kMostLaterShares * SharedLater());
}

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
  GiveUpAbandoned(groups);
  // A pool's threads may not wait for the pool: a lone vehicle's scans are prepared here.
  const bool alone = groups.size() == 1;
  ThreadPool* const idle = alone ? &host_threads_ : nullptr;
  ParallelFor(alone ? nullptr : &host_threads_, groups.size(), [&groups, idle](size_t i) {
    for (Group::Scan& scan : groups[i].scans) {
      if (scan.task == nullptr) continue;
      if (!RunStep(*scan.task, [&] { return scan.task->Prepare(scan.job, scan.estimate, idle); })) {
        scan.task.reset();
      }
    }
  });
  GiveUpAbandoned(groups);
  DropEmpty(groups);
  if (groups.empty()) return;
  BatchFacts facts;
  try {
    Align(groups, facts);
  } catch (const std::bad_alloc&) {
    for (Group& group : groups) group.Fail();
    return;
  }
  GiveUpAbandoned(groups);
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
      if (scan.task == nullptr) continue;
      BatchFacts own = facts;
      std::optional<ScanEstimate> estimate;
      if (scan.WantsEstimate()) {
        own.estimate_start = Clock::now();
        const bool lives = RunStep(*scan.task, [&] {
          estimate = EstimateFromPasses(scan.Request());
          return true;
        });
        metrics_.stage_estimate_s.Observe(ElapsedS(own.estimate_start));
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
  for (Group& group : groups) {
    std::unique_ptr<Later> later;
    try {
      later = std::make_unique<Later>(group, facts);
      if (!PutLater(later)) later->group.GiveUp();
    } catch (const std::bad_alloc&) {
      (later == nullptr ? group : later->group).Fail();
    }
  }
}

bool Scheduler::PutLater(std::unique_ptr<Later>& later) {
  const absl::MutexLock lock(&mutex_);
  if (FairQueue::IsClosed(later->group.turn.lane())) return false;
  const uint64_t round = waiting_.BeginSecondStage(later->group.turn.lane(), SharedLater());
  later_.emplace(round, std::move(later));
  CountWaiting();
  return true;
}

bool Scheduler::HasLater() const { return stopping_ || !later_.empty(); }

Scheduler::LaterByRound Scheduler::TakeLater() {
  const size_t largest = std::min(options_.max_batch, later_limit_.scans());
  LaterByRound batch;
  while (!later_.empty() && batch.size() < largest) {
    waiting_.TakeRound(later_.begin()->first);
    batch.insert(later_.extract(later_.begin()));
  }
  CountWaiting();
  return batch;
}

void Scheduler::WorkLater() {
  while (true) {
    LaterByRound batch;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Scheduler::HasLater));
      if (stopping_) return;
      batch = TakeLater();
    }
    const size_t lanes = batch.size();
    const Clock::time_point start = Clock::now();
    for (const auto& [round, later] : batch) {
      metrics_.estimating_queue.wait_s.Observe(
          std::chrono::duration<double>(start - later->since).count());
      later->group.GiveUpAbandoned();
      later->group.DropEnded();
    }
    try {
      EstimateTogether(batch);
    } catch (const std::bad_alloc&) {
      for (const auto& [round, later] : batch) later->group.Fail();
    }
    batch.clear();  // ends the turns of lanes
    const absl::MutexLock lock(&mutex_);
    later_limit_.Ran(lanes, ElapsedS(start));
  }
}

void Scheduler::EstimateTogether(const LaterByRound& batch) {
  const Clock::time_point start = Clock::now();
  std::vector<EstimateRequest> requests;
  for (const auto& [round, later] : batch) {
    for (const Group::Scan& scan : later->group.scans) {
      if (scan.WantsEstimate()) requests.push_back(scan.Request());
    }
  }
  std::vector<ScanEstimate> found;
  if (!requests.empty()) {
    found = EstimateScans(engine_, requests, &host_threads_);
    metrics_.stage_estimate_s.Observe(ElapsedS(start));
  }
  size_t next = 0;
  for (const auto& [round, later] : batch) {
    later->facts.estimate_start = start;
    for (Group::Scan& scan : later->group.scans) {
      const ScanEstimate* const estimate = scan.WantsEstimate() ? &found[next++] : nullptr;
      scan.Complete(estimate, later->facts);
    }
  }
}

}  // namespace voxloc::server
