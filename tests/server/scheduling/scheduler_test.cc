// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tests/server/gated_engine.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

// What became of the tasks, in the order in which it did.
class Record {
 public:
  void Add(const std::string& event) {
    const absl::MutexLock lock(&mutex_);
    events_.push_back(event);
  }
  void Await(size_t count) {
    const absl::MutexLock lock(&mutex_);
    const auto enough = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return events_.size() >= count;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), kLongestWait))
        << events_.size() << " of " << count << " events";
  }
  std::vector<std::string> events() {
    const absl::MutexLock lock(&mutex_);
    return events_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mutex_);
};

class FakeTask : public ScanTask {
 public:
  FakeTask(Record& record, std::string name, bool prepares = true)
      : record_(record), name_(std::move(name)), prepares_(prepares) {}
  ~FakeTask() override {
    if (!ended_) record_.Add("dropped " + name_);
  }
  // The engine answers a job without a map with a status: the scheduler does not look at it.
  bool Prepare(AlignJob& /*job*/, EstimateRequest& /*estimate*/) override {
    if (!prepares_) End("prepared " + name_);
    return prepares_;
  }
  void Complete(AlignResult /*result*/, const ScanEstimate* estimate,
                const BatchFacts& batch) override {
    EXPECT_EQ(estimate, nullptr);  // nothing was asked for
    End("completed " + name_ + " of " + std::to_string(batch.size));
  }
  void Supersede() override { End("superseded " + name_); }
  void Refuse(double retry_after_s) override {
    EXPECT_GT(retry_after_s, 0.0);
    End("refused " + name_);
  }

 private:
  void End(const std::string& event) {
    EXPECT_FALSE(ended_);
    ended_ = true;
    record_.Add(event);
  }

  Record& record_;
  const std::string name_;
  const bool prepares_;
  bool ended_ = false;
};

// A task that is aligned from two guesses, 1 m and 2 m along x, and goes on with one of them.
class TwoGuessTask : public ScanTask {
 public:
  TwoGuessTask(Record& record, bool prefers_second)
      : record_(record), prefers_second_(prefers_second) {}
  bool Prepare(AlignJob& job, EstimateRequest& /*estimate*/) override {
    job.map_T_base_guess.translation.x() = 1.0;
    return true;
  }
  [[nodiscard]] std::optional<Pose> SecondGuess() const override {
    return Pose{{2.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  }
  bool PrefersSecond(const AlignResult& first, const AlignResult& second) override {
    EXPECT_EQ(first.map_T_base.translation.x(), 1.0);
    EXPECT_EQ(second.map_T_base.translation.x(), 2.0);
    return prefers_second_;
  }
  void Complete(AlignResult result, const ScanEstimate* /*estimate*/,
                const BatchFacts& batch) override {
    record_.Add("completed at " + std::to_string(result.map_T_base.translation.x()).substr(0, 1) +
                " of " + std::to_string(batch.size));
  }
  void Supersede() override {}
  void Refuse(double /*retry_after_s*/) override {}

 private:
  Record& record_;
  const bool prefers_second_;
};

// Answers every job at once with its guess, after the gate.
class EmptyEngine : public GatedEngine {
 public:
  explicit EmptyEngine(std::shared_ptr<Gate> gate) : GatedEngine(gate), gate_(std::move(gate)) {}
  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override {
    gate_->Pass(jobs.size());
    std::vector<AlignResult> results(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) results[i].map_T_base = jobs[i].map_T_base_guess;
    return results;
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  void Submit(const std::shared_ptr<Scheduler::Lane>& lane, const std::string& name,
              bool prepares = true) {
    scheduler_.Submit(lane, std::make_unique<FakeTask>(record_, name, prepares));
  }

  Record record_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  const Metrics metrics_{"test"};
  EmptyEngine engine_{gate_};
  ThreadPool host_threads_{2};
  Scheduler scheduler_{engine_, host_threads_, {4, 3}, metrics_};
};

using Events = std::vector<std::string>;

TEST_F(SchedulerTest, StartsAtOnceWhenIdle) {
  const auto lane = scheduler_.OpenLane(1);
  Submit(lane, "a");
  record_.Await(1);
  EXPECT_EQ(record_.events(), Events{"completed a of 1"});
}

TEST_F(SchedulerTest, ASecondGuessIsAlignedInTheSameCallAndTheTaskChooses) {
  gate_->Close();
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 4; ++i) lanes.push_back(scheduler_.OpenLane(1));
  Submit(lanes[0], "a");
  gate_->AwaitBatches(1);
  scheduler_.Submit(lanes[1], std::make_unique<TwoGuessTask>(record_, false));
  Submit(lanes[2], "b");
  scheduler_.Submit(lanes[3], std::make_unique<TwoGuessTask>(record_, true));
  gate_->Open();
  record_.Await(4);
  EXPECT_EQ(record_.events(), (Events{"completed a of 1", "completed at 1 of 3", "completed b of 3",
                                      "completed at 2 of 3"}));
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 5}));
}

TEST_F(SchedulerTest, GathersWhileBusyAndSplitsAtTheLargestBatch) {
  gate_->Close();
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 5; ++i) lanes.push_back(scheduler_.OpenLane(1));
  Submit(lanes[0], "a");
  gate_->AwaitBatches(1);
  for (int i = 1; i < 5; ++i) Submit(lanes[static_cast<size_t>(i)], std::to_string(i));
  gate_->Open();
  record_.Await(5);
  EXPECT_EQ(record_.events(), (Events{"completed a of 1", "completed 1 of 3", "completed 2 of 3",
                                      "completed 3 of 3", "completed 4 of 1"}));
}

TEST_F(SchedulerTest, LetsTheNewestTakeTheOldestPlace) {
  gate_->Close();
  const auto lane = scheduler_.OpenLane(2);
  Submit(lane, "a");
  gate_->AwaitBatches(1);
  for (const char* name : {"b", "c", "d"}) Submit(lane, name);
  EXPECT_EQ(record_.events(), Events{"superseded b"});
  gate_->Open();
  record_.Await(4);
  EXPECT_EQ(record_.events(),
            (Events{"superseded b", "completed a of 1", "completed c of 2", "completed d of 2"}));
}

TEST_F(SchedulerTest, RefusesWhatIsOneTooManyButNotWhatTakesAPlace) {
  gate_->Close();
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 6; ++i) lanes.push_back(scheduler_.OpenLane(1));
  Submit(lanes[0], "busy");
  gate_->AwaitBatches(1);
  for (size_t i = 1; i < 5; ++i) Submit(lanes[i], std::to_string(i));
  Submit(lanes[5], "x");
  Submit(lanes[1], "newer");
  EXPECT_EQ(record_.events(), (Events{"refused x", "superseded 1"}));
  gate_->Open();
  record_.Await(7);
}

TEST_F(SchedulerTest, LeavesOutTasksThatAnswerByThemselves) {
  const auto lane = scheduler_.OpenLane(1);
  Submit(lane, "a", false);
  record_.Await(1);
  EXPECT_EQ(record_.events(), Events{"prepared a"});
  EXPECT_TRUE(gate_->batches().empty());
}

TEST_F(SchedulerTest, DropsWhatWaitsInAClosedLane) {
  gate_->Close();
  const auto first = scheduler_.OpenLane(1);
  const auto second = scheduler_.OpenLane(1);
  Submit(first, "a");
  gate_->AwaitBatches(1);
  Submit(second, "b");
  scheduler_.Close(*second);
  Submit(second, "c");
  EXPECT_EQ(record_.events(), (Events{"dropped b", "dropped c"}));
  Submit(first, "d");
  gate_->Open();
  record_.Await(4);
  EXPECT_EQ(record_.events().back(), "completed d of 1");
}

TEST_F(SchedulerTest, StopsWithTheRunningBatchAndDropsTheRest) {
  gate_->Close();
  const auto lane = scheduler_.OpenLane(1);
  Submit(lane, "a");
  gate_->AwaitBatches(1);
  Submit(lane, "b");
  std::thread stop([this] { scheduler_.Stop(); });
  gate_->Open();
  stop.join();
  EXPECT_EQ(record_.events().front(), "completed a of 1");
  Submit(lane, "c");
  EXPECT_EQ(record_.events().back(), "dropped c");
}

TEST_F(SchedulerTest, EndsEveryTaskOnceUnderLoadFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] {
        const auto lane = scheduler_.OpenLane(2);
        for (int i = 0; i < kTasks; ++i) Submit(lane, std::to_string(t * kTasks + i), i % 7 != 0);
        if (t == 0) scheduler_.Close(*lane);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  record_.Await(kThreads * kTasks);
  EXPECT_EQ(record_.events().size(), kThreads * kTasks);
}

}  // namespace
}  // namespace voxloc::server
