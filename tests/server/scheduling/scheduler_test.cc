// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/gated_engine.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr size_t kTaskPoints = 1000;
constexpr size_t kTaskBytes = 12'000;

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
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), kTestTimeout))
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
  FakeTask(Record& record, std::string name, bool prepares = true,
           absl::Time deadline = absl::InfiniteFuture())
      : record_(record), name_(std::move(name)), prepares_(prepares), deadline_(deadline) {}
  ~FakeTask() override {
    if (!ended_) record_.Add("dropped " + name_);
  }
  size_t points() const override { return kTaskPoints; }
  size_t bytes() const override { return kTaskBytes; }
  absl::Time deadline() const override { return deadline_; }
  // The engine answers a job without a map with a status: the scheduler does not look at it.
  bool Prepare(AlignJob& /*job*/, EstimateRequest& /*estimate*/) override {
    if (!prepares_) End("prepared " + name_);
    return prepares_;
  }
  void Complete(AlignResult result, const ScanEstimate* estimate,
                const BatchFacts& batch) override {
    EXPECT_EQ(estimate, nullptr);  // nothing was asked for
    const bool no_memory = absl::IsResourceExhausted(result.status);
    End("completed " + name_ + " of " + std::to_string(batch.size) +
        (no_memory ? " without memory" : ""));
  }
  void Supersede() override { End("superseded " + name_); }
  void Reject(absl::string_view why, double retry_after_s) override {
    EXPECT_THAT(why, HasSubstr("too many scans wait"));
    EXPECT_GT(retry_after_s, 0.0);
    End("refused " + name_);
  }
  void Fail(const absl::Status& status) override {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    End("failed " + name_);
  }
  void Cancel() override { End("given up " + name_); }

 private:
  void End(const std::string& event) {
    EXPECT_FALSE(ended_);
    ended_ = true;
    record_.Add(event);
  }

  Record& record_;
  const std::string name_;
  const bool prepares_;
  const absl::Time deadline_;
  bool ended_ = false;
};

// A task that is aligned from two guesses, 1 m and 2 m along x, and goes on with one of them.
class TwoGuessTask : public ScanTask {
 public:
  TwoGuessTask(Record& record, bool prefers_second)
      : record_(record), prefers_second_(prefers_second) {}
  size_t points() const override { return kTaskPoints; }
  size_t bytes() const override { return kTaskBytes; }
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
  void Reject(absl::string_view /*why*/, double /*retry_after_s*/) override {}
  void Fail(const absl::Status& /*status*/) override {}
  void Cancel() override {}

 private:
  Record& record_;
  const bool prefers_second_;
};

// Answers every job at once with its guess, after the gate.
class EmptyEngine : public GatedEngine {
 public:
  explicit EmptyEngine(std::shared_ptr<Gate> gate) : GatedEngine(gate), gate_(std::move(gate)) {}
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    gate_->Pass(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) results[i].map_T_base = jobs[i].map_T_base_guess;
    return absl::OkStatus();
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
  const Metrics metrics_;
  EmptyEngine engine_{gate_};
  ThreadPool host_threads_{2};
  static Scheduler::Options FewOptions() {
    Scheduler::Options options;
    options.max_queued = 4;
    options.max_queued_bytes = 8 * kTaskBytes;
    options.max_batch = 3;
    return options;
  }
  Scheduler scheduler_{engine_, host_threads_, FewOptions(), metrics_};
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
  EXPECT_THAT(record_.events(), UnorderedElementsAre("completed a of 1", "completed at 1 of 3",
                                                     "completed b of 3", "completed at 2 of 3"));
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
  EXPECT_THAT(record_.events(),
              UnorderedElementsAre("completed a of 1", "completed 1 of 3", "completed 2 of 3",
                                   "completed 3 of 3", "completed 4 of 1"));
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 3, 1}));
}

TEST_F(SchedulerTest, WhereBatchesTakeTooLongTheyHaveAScanForEachThreadOfTheHost) {
  gate_->Close();
  Scheduler::Options options = FewOptions();
  options.max_batch_s = 1e-12;  // every batch takes longer
  Scheduler scheduler(engine_, host_threads_, options, metrics_);
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 5; ++i) lanes.push_back(scheduler.OpenLane(1));
  const auto submit = [&](size_t lane) {
    scheduler.Submit(lanes[lane], std::make_unique<FakeTask>(record_, std::to_string(lane)));
  };
  submit(0);
  gate_->AwaitBatches(1);
  for (size_t i = 1; i < 5; ++i) submit(i);
  gate_->Open();
  record_.Await(5);
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 2, 2}));
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

TEST_F(SchedulerTest, RefusesWhatAWholeBatchWouldKeepBeyondItsDeadline) {
  gate_->Close();
  const auto submit = [&](const std::string& name, absl::Duration left) {
    scheduler_.Submit(scheduler_.OpenLane(1),
                      // Real time: deadlines that are hours away or over; none is waited for.
                      std::make_unique<FakeTask>(record_, name, true, absl::Now() + left));
  };
  submit("busy", absl::InfiniteDuration());
  gate_->AwaitBatches(1);
  for (const char* name : {"1", "2"}) submit(name, absl::InfiniteDuration());
  submit("in the next batch", absl::ZeroDuration());
  submit("late", absl::ZeroDuration());
  EXPECT_EQ(record_.events(), Events{"refused late"});
  submit("patient", absl::Hours(1));
  EXPECT_EQ(record_.events(), Events{"refused late"});
  gate_->Open();
  record_.Await(6);
}

TEST_F(SchedulerTest, RefusesWhatWeighsTooMuch) {
  gate_->Close();
  Scheduler::Options options = FewOptions();
  options.max_queued_bytes = 2 * kTaskBytes + 1;
  Scheduler scheduler(engine_, host_threads_, options, metrics_);
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 4; ++i) lanes.push_back(scheduler.OpenLane(1));
  const auto submit = [&](size_t lane, const std::string& name) {
    scheduler.Submit(lanes[lane], std::make_unique<FakeTask>(record_, name));
  };
  submit(0, "busy");
  gate_->AwaitBatches(1);
  submit(1, "1");
  submit(2, "2");
  submit(3, "x");
  EXPECT_EQ(record_.events(), Events{"refused x"});
  gate_->Open();
  record_.Await(4);
  submit(3, "y");  // what was answered no longer weighs
  record_.Await(5);
  EXPECT_EQ(record_.events().back(), "completed y of 1");
}

TEST_F(SchedulerTest, AFullBatchHasAScanOfEachLaneBeforeTheSecondOfAny) {
  gate_->Close();
  Scheduler::Options options = FewOptions();
  options.max_queued = 100;
  options.max_queued_bytes = 100 * kTaskBytes;
  Scheduler scheduler(engine_, host_threads_, options, metrics_);
  const auto submit = [&](const std::shared_ptr<Scheduler::Lane>& lane, const std::string& name) {
    scheduler.Submit(lane, std::make_unique<FakeTask>(record_, name));
  };
  const auto greedy = scheduler.OpenLane(8);
  const auto first = scheduler.OpenLane(2);
  const auto second = scheduler.OpenLane(2);
  submit(scheduler.OpenLane(1), "busy");
  gate_->AwaitBatches(1);
  for (int i = 0; i < 6; ++i) submit(greedy, "greedy" + std::to_string(i));
  for (int i = 0; i < 2; ++i) submit(first, "first" + std::to_string(i));
  submit(second, "second0");
  gate_->Open();
  record_.Await(10);
  // Of three scans a batch. Within a lane they keep their order.
  const Events events = record_.events();
  EXPECT_THAT(Events(events.begin() + 1, events.begin() + 4),
              UnorderedElementsAre("completed greedy0 of 3", "completed first0 of 3",
                                   "completed second0 of 3"));
  EXPECT_THAT(Events(events.begin() + 4, events.begin() + 7),
              UnorderedElementsAre("completed greedy1 of 3", "completed greedy2 of 3",
                                   "completed first1 of 3"));
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 3, 3, 3}));
}

TEST_F(SchedulerTest, AGreedyLaneLeavesRoomForOthers) {
  gate_->Close();
  for (const bool by_bytes : {false, true}) {
    Scheduler::Options options = FewOptions();
    options.max_queued = by_bytes ? 100 : 8;
    options.max_queued_bytes = (by_bytes ? 8 : 100) * kTaskBytes;
    Record record;
    {
      Scheduler scheduler(engine_, host_threads_, options, metrics_);
      const auto submit = [&](const std::shared_ptr<Scheduler::Lane>& lane,
                              const std::string& name) {
        scheduler.Submit(lane, std::make_unique<FakeTask>(record, name));
      };
      const size_t batches = gate_->batches().size();
      submit(scheduler.OpenLane(1), "busy");
      gate_->AwaitBatches(batches + 1);
      const auto greedy = scheduler.OpenLane(64);
      for (int i = 0; i < 6; ++i) submit(greedy, "greedy" + std::to_string(i));
      // Half of the places.
      EXPECT_EQ(record.events(), (Events{"refused greedy4", "refused greedy5"})) << by_bytes;
      // The first scan of any lane gets in, as long as there is any room.
      std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
      for (int i = 0; i < 5; ++i) {
        lanes.push_back(scheduler.OpenLane(64));
        submit(lanes.back(), "modest" + std::to_string(i));
      }
      EXPECT_EQ(record.events().size(), 3u);
      EXPECT_EQ(record.events().back(), "refused modest4");
      gate_->Open();
      record.Await(12);
    }
    gate_->Close();
  }
  gate_->Open();
}

TEST_F(SchedulerTest, NewLimitsHoldForWhatComesNext) {
  gate_->Close();
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 6; ++i) lanes.push_back(scheduler_.OpenLane(1));
  Submit(lanes[0], "busy");
  gate_->AwaitBatches(1);
  Submit(lanes[1], "1");
  Submit(lanes[2], "2");
  scheduler_.SetLimits(/*max_queued=*/2, /*max_queued_bytes=*/8 * kTaskBytes, /*max_batch=*/3);
  Submit(lanes[3], "x");
  scheduler_.SetLimits(/*max_queued=*/4, /*max_queued_bytes=*/2 * kTaskBytes, /*max_batch=*/3);
  Submit(lanes[4], "y");
  scheduler_.SetLimits(/*max_queued=*/4, /*max_queued_bytes=*/8 * kTaskBytes, /*max_batch=*/1);
  Submit(lanes[5], "3");
  EXPECT_EQ(record_.events(), (Events{"refused x", "refused y"}));
  gate_->Open();
  record_.Await(6);
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 1, 1, 1}));
}

TEST_F(SchedulerTest, ABatchHasAtMostSoManyPointsOrOneScan) {
  gate_->Close();
  Scheduler::Options options = FewOptions();
  options.max_batch_points = 2 * kTaskPoints;
  Scheduler scheduler(engine_, host_threads_, options, metrics_);
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int i = 0; i < 4; ++i) {
    lanes.push_back(scheduler.OpenLane(1));
    scheduler.Submit(lanes.back(), std::make_unique<FakeTask>(record_, std::to_string(i)));
    if (i == 0) gate_->AwaitBatches(1);
  }
  gate_->Open();
  record_.Await(4);
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 2, 1}));
}

TEST_F(SchedulerTest, HasAsManyBatchesInFlightAsItMay) {
  gate_->Close();
  Scheduler::Options options = FewOptions();
  options.batches_in_flight = 2;
  Scheduler scheduler(engine_, host_threads_, options, metrics_);
  const auto first = scheduler.OpenLane(2);
  const auto second = scheduler.OpenLane(2);
  scheduler.Submit(first, std::make_unique<FakeTask>(record_, "a"));
  gate_->AwaitBatches(1);
  // A scan of the lane whose scan is on its way waits; one of another lane does not.
  scheduler.Submit(first, std::make_unique<FakeTask>(record_, "b"));
  scheduler.Submit(second, std::make_unique<FakeTask>(record_, "c"));
  gate_->AwaitBatches(2);
  gate_->Open();
  record_.Await(3);
  EXPECT_THAT(record_.events(),
              UnorderedElementsAre("completed a of 1", "completed b of 1", "completed c of 1"));
}

TEST_F(SchedulerTest, WhereMemoryRunsOutTheScanFailsAndTheOthersGoOn) {
  class HungryTask : public FakeTask {
   public:
    using FakeTask::FakeTask;
    bool Prepare(AlignJob& /*job*/, EstimateRequest& /*estimate*/) override {
      throw std::bad_alloc();
    }
  };
  gate_->Close();
  const auto busy = scheduler_.OpenLane(1);
  const auto hungry = scheduler_.OpenLane(1);
  const auto modest = scheduler_.OpenLane(1);
  Submit(busy, "busy");
  gate_->AwaitBatches(1);
  scheduler_.Submit(hungry, std::make_unique<HungryTask>(record_, "hungry"));
  Submit(modest, "modest");
  gate_->Open();
  record_.Await(3);
  EXPECT_THAT(record_.events(), UnorderedElementsAre("completed busy of 1", "failed hungry",
                                                     "completed modest of 1"));
}

TEST_F(SchedulerTest, WhereMemoryRunsOutAsAScanIsSubmittedItFails) {
  class HungryTask : public FakeTask {
   public:
    using FakeTask::FakeTask;
    size_t bytes() const override { throw std::bad_alloc(); }
  };
  const auto lane = scheduler_.OpenLane(1);
  scheduler_.Submit(lane, std::make_unique<HungryTask>(record_, "hungry"));
  EXPECT_EQ(record_.events(), Events{"failed hungry"});
  Submit(lane, "modest");
  record_.Await(2);
  EXPECT_EQ(record_.events().back(), "completed modest of 1");
}

TEST_F(SchedulerTest, WhereMemoryRunsOutInTheEnginesCallItsScansHaveThatStatus) {
  class HungryEngine : public EmptyEngine {
   public:
    using EmptyEngine::EmptyEngine;
    absl::Status DoAlign(absl::Span<const AlignJob> /*jobs*/,
                         absl::Span<AlignResult> /*results*/) override {
      throw std::bad_alloc();
    }
  };
  HungryEngine engine(gate_);
  Scheduler scheduler(engine, host_threads_, FewOptions(), metrics_);
  const auto lane = scheduler.OpenLane(1);
  for (const char* name : {"a", "b"}) {
    scheduler.Submit(lane, std::make_unique<FakeTask>(record_, name));
    record_.Await(name[0] == 'a' ? 1 : 2);
  }
  EXPECT_EQ(record_.events(),
            (Events{"completed a of 1 without memory", "completed b of 1 without memory"}));
}

TEST_F(SchedulerTest, LeavesOutTasksThatAnswerByThemselves) {
  const auto lane = scheduler_.OpenLane(1);
  Submit(lane, "a", false);
  record_.Await(1);
  EXPECT_EQ(record_.events(), Events{"prepared a"});
  EXPECT_TRUE(gate_->batches().empty());
}

TEST_F(SchedulerTest, GivesUpWhatWaitsInAClosedLane) {
  gate_->Close();
  const auto first = scheduler_.OpenLane(1);
  const auto second = scheduler_.OpenLane(1);
  Submit(first, "a");
  gate_->AwaitBatches(1);
  Submit(second, "b");
  scheduler_.Close(*second);
  Submit(second, "c");
  EXPECT_EQ(record_.events(), (Events{"given up b", "dropped c"}));
  Submit(first, "d");
  gate_->Open();
  record_.Await(4);
  EXPECT_EQ(record_.events().back(), "completed d of 1");
}

TEST_F(SchedulerTest, GivesUpATaskThatIsAbandonedBeforeItsNextStage) {
  class Abandoned : public FakeTask {
   public:
    Abandoned(Record& record, const std::string& name, int stages)
        : FakeTask(record, name), stages_(stages) {}
    bool abandoned() const override { return stages_-- == 0; }

   private:
    mutable int stages_;  // that it is still wanted in
  };
  gate_->Close();
  const auto busy = scheduler_.OpenLane(1);
  Submit(busy, "busy");
  gate_->AwaitBatches(1);
  std::vector<std::shared_ptr<Scheduler::Lane>> lanes;
  for (int stages = 0; stages < 3; ++stages) {
    lanes.push_back(scheduler_.OpenLane(1));
    scheduler_.Submit(lanes.back(),
                      std::make_unique<Abandoned>(record_, std::to_string(stages), stages));
  }
  gate_->Open();
  record_.Await(4);
  // Before it is prepared, before it is aligned, and before it is answered.
  EXPECT_EQ(record_.events(),
            (Events{"completed busy of 1", "given up 0", "given up 1", "given up 2"}));
  EXPECT_EQ(gate_->batches(), (std::vector<size_t>{1, 1}));
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
