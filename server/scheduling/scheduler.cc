// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/scheduler.h"

#include <chrono>
#include <optional>
#include <utility>

#include "server/scheduling/thread_name.h"

namespace voxloc::server {
namespace {

using Clock = std::chrono::steady_clock;

double ElapsedS(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Weight of the newest batch in the running mean of their times.
constexpr double kNewestWeight = 0.2;

bool CanEstimate(const AlignJob& job, const AlignResult& result) {
  return result.status.ok() && result.after.matched_points > 0 &&
         JudgeInDetail(result, job.profile).finished;
}

// One a job, null where there is nothing to estimate.
std::vector<std::unique_ptr<ScanEstimate>> Estimate(Engine& engine, ThreadPool& pool,
                                                    const std::vector<AlignJob>& jobs,
                                                    const std::vector<AlignResult>& results,
                                                    const std::vector<EstimateRequest>& wanted) {
  std::vector<EstimateRequest> requests;
  std::vector<size_t> places;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (wanted[i].options == nullptr || !CanEstimate(jobs[i], results[i])) continue;
    requests.push_back(wanted[i]);
    requests.back().scan = {&jobs[i], &results[i]};
    places.push_back(i);
  }
  std::vector<std::unique_ptr<ScanEstimate>> estimates(jobs.size());
  if (requests.empty()) return estimates;
  std::vector<ScanEstimate> found = EstimateScans(engine, requests, &pool);
  for (size_t i = 0; i < places.size(); ++i) {
    estimates[places[i]] = std::make_unique<ScanEstimate>(std::move(found[i]));
  }
  return estimates;
}

// Adds the jobs of second guesses behind those of the scans; the scan of each.
std::vector<size_t> AddSecondGuesses(const std::vector<std::unique_ptr<ScanTask>>& tasks,
                                     std::vector<AlignJob>& jobs) {
  std::vector<size_t> scans;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::optional<Pose> guess = tasks[i]->SecondGuess();
    if (!guess.has_value()) continue;
    jobs.push_back(WithGuess(jobs[i], *guess));
    scans.push_back(i);
  }
  return scans;
}

// Leaves one job and one result a scan: those that its task prefers.
void KeepPreferred(const std::vector<std::unique_ptr<ScanTask>>& tasks,
                   const std::vector<size_t>& second_scans, std::vector<AlignJob>& jobs,
                   std::vector<AlignResult>& results) {
  for (size_t k = 0; k < second_scans.size(); ++k) {
    const size_t first = second_scans[k];
    const size_t second = tasks.size() + k;
    if (!tasks[first]->PrefersSecond(results[first], results[second])) continue;
    std::swap(jobs[first], jobs[second]);
    std::swap(results[first], results[second]);
  }
  jobs.resize(tasks.size());
  results.resize(tasks.size());
}

}  // namespace

Scheduler::Scheduler(Engine& engine, ThreadPool& host_threads, const Options& options,
                     const Metrics& metrics)
    : engine_(engine),
      host_threads_(host_threads),
      options_(options),
      metrics_(metrics),
      worker_([this] {
        NameThisThread("tracking");
        Run();
      }) {}

Scheduler::~Scheduler() { Stop(); }

std::shared_ptr<Scheduler::Lane> Scheduler::OpenLane(size_t capacity) const {
  return std::make_shared<Lane>(capacity);
}

void Scheduler::Submit(const std::shared_ptr<Lane>& lane, std::unique_ptr<ScanTask> task) {
  std::optional<std::unique_ptr<ScanTask>> displaced;
  std::optional<double> retry_after_s;
  {
    const absl::MutexLock lock(&mutex_);
    if (lane->closed || stopping_) return;
    if (!lane->waiting.full() && queued_ >= options_.max_queued) {
      const size_t batches = 1 + queued_ / options_.max_batch;
      retry_after_s = static_cast<double>(batches) * batch_s_;
    } else {
      displaced = lane->waiting.Put(std::move(task));
      if (!displaced.has_value()) ++queued_;
      if (!lane->queued) {
        lane->queued = true;
        ready_.push_back(lane);
      }
      metrics_.depth_tracking.Set(static_cast<double>(queued_));
    }
  }
  // NOLINTNEXTLINE(bugprone-use-after-move): it stayed here where it is refused.
  if (retry_after_s.has_value()) task->Refuse(*retry_after_s);
  if (displaced.has_value()) (*displaced)->Supersede();
}

void Scheduler::Close(Lane& lane) {
  Batch dropped;  // destroyed outside the lock
  const absl::MutexLock lock(&mutex_);
  lane.closed = true;
  while (!lane.waiting.empty()) {
    dropped.push_back(lane.waiting.Take());
    --queued_;
  }
  metrics_.depth_tracking.Set(static_cast<double>(queued_));
}

void Scheduler::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (worker_.joinable()) worker_.join();
  std::deque<std::shared_ptr<Lane>> dropped;
  const absl::MutexLock lock(&mutex_);
  dropped.swap(ready_);
}

bool Scheduler::HasWork() const { return stopping_ || !ready_.empty(); }

Scheduler::Batch Scheduler::TakeBatch() {
  Batch batch;
  while (!ready_.empty() && batch.size() < options_.max_batch) {
    Lane& lane = *ready_.front();
    while (!lane.waiting.empty() && batch.size() < options_.max_batch) {
      batch.push_back(lane.waiting.Take());
    }
    if (!lane.waiting.empty()) break;
    lane.queued = false;
    ready_.pop_front();
  }
  queued_ -= batch.size();
  metrics_.depth_tracking.Set(static_cast<double>(queued_));
  return batch;
}

void Scheduler::Run() {
  while (true) {
    Batch batch;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Scheduler::HasWork));
      if (stopping_) return;
      batch = TakeBatch();
    }
    if (batch.empty()) continue;  // of lanes that were closed
    const double seconds = RunBatch(std::move(batch));
    const absl::MutexLock lock(&mutex_);
    batch_s_ += kNewestWeight * (seconds - batch_s_);
  }
}

double Scheduler::RunBatch(Batch batch) {
  const Clock::time_point start = Clock::now();
  std::vector<AlignJob> jobs;
  std::vector<EstimateRequest> wanted;
  Batch running;
  jobs.reserve(batch.size());
  wanted.reserve(batch.size());
  running.reserve(batch.size());
  for (std::unique_ptr<ScanTask>& task : batch) {
    AlignJob job;
    EstimateRequest estimate;
    if (!task->Prepare(job, estimate)) continue;
    jobs.push_back(std::move(job));
    wanted.push_back(std::move(estimate));
    running.push_back(std::move(task));
  }
  batch.clear();
  if (jobs.empty()) return ElapsedS(start);

  BatchFacts facts;
  facts.size = running.size();
  const std::vector<size_t> second_scans = AddSecondGuesses(running, jobs);
  const Clock::time_point align_start = Clock::now();
  std::vector<AlignResult> results = engine_.Align(jobs);
  facts.align_s = ElapsedS(align_start);
  KeepPreferred(running, second_scans, jobs, results);
  const Clock::time_point estimate_start = Clock::now();
  const auto estimates = Estimate(engine_, host_threads_, jobs, results, wanted);
  facts.estimate_s = ElapsedS(estimate_start);
  for (size_t i = 0; i < running.size(); ++i) {
    running[i]->Complete(std::move(results[i]), estimates[i].get(), facts);
  }
  metrics_.batch_size.Observe(static_cast<double>(facts.size));
  metrics_.stage_align_s.Observe(facts.align_s);
  metrics_.stage_estimate_s.Observe(facts.estimate_s);
  return ElapsedS(start);
}

}  // namespace voxloc::server
