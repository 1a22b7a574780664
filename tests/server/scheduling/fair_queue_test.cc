// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A scan of so many bytes that only waits.
class WaitingTask : public ScanTask {
 public:
  explicit WaitingTask(std::string name, size_t bytes = 1)
      : name_(std::move(name)), bytes_(bytes) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  size_t points() const override { return 1; }
  size_t bytes() const override { return bytes_; }
  bool Prepare(AlignJob& /*job*/, EstimateRequest& /*estimate*/) override { return false; }
  void Complete(AlignResult /*result*/, const ScanEstimate* /*estimate*/,
                const BatchFacts& /*batch*/) override {}
  void Supersede() override {}
  void Reject(absl::string_view /*why*/, double /*retry_after_s*/) override {}
  void Fail(const absl::Status& /*status*/) override {}
  void Cancel() override {}

 private:
  const std::string name_;
  const size_t bytes_;
};

std::string NameOf(const std::unique_ptr<ScanTask>& task) {
  return task == nullptr ? "" : dynamic_cast<const WaitingTask&>(*task).name();
}

class FairQueueTest : public ::testing::Test {
 protected:
  using LanePtr = std::shared_ptr<FairQueue::Lane>;

  [[nodiscard]] LanePtr Open(const std::string& caller) { return queue_.OpenLane(64, caller); }

  // Whether there is room; the scan then waits.
  bool Put(const LanePtr& lane, const std::string& name, size_t bytes = 1) {
    auto task = std::make_unique<WaitingTask>(name, bytes);
    if (!queue_.HasCapacityFor(*lane, *task, max_scans_, max_bytes_)) return false;
    EXPECT_EQ(NameOf(queue_.Put(lane, std::move(task))), "");
    return true;
  }
  // How many scans of one byte the lane may add.
  size_t Fill(const LanePtr& lane) {
    size_t put = 0;
    while (put < 1000 && Put(lane, "filled")) ++put;
    return put;
  }

  // The names of a batch of at most so many scans, lane by lane; its lanes are under way until
  // EndTurns.
  std::vector<std::string> TakeBatch(size_t most) {
    std::vector<std::string> names;
    for (const FairQueue::Group& group : queue_.TakeBatch(most, /*max_points=*/1000)) {
      EXPECT_FALSE(group.scans.empty());
      for (const ScanInBatch& scan : group.scans) names.push_back(NameOf(scan.task));
      running_.push_back(group.lane);
    }
    return names;
  }
  // How many scans waited in a lane that is closed.
  size_t Close(const LanePtr& lane) {
    size_t waited = 0;
    while (queue_.Close(*lane) != nullptr) ++waited;
    return waited;
  }
  // How many lanes the end of the queue lets go of.
  size_t DropLanes() {
    size_t dropped = 0;
    while (queue_.PopLane() != nullptr) ++dropped;
    return dropped;
  }
  void EndTurns() {
    for (const LanePtr& lane : std::exchange(running_, {})) queue_.EndTurn(lane);
  }

  FairQueue queue_;
  std::vector<LanePtr> running_;
  size_t max_scans_ = 1000;
  size_t max_bytes_ = 1'000'000;
};

TEST_F(FairQueueTest, ABatchHasAScanOfEachCallerBeforeTheSecondOfAny) {
  std::vector<LanePtr> lanes;
  for (int i = 0; i < 4; ++i) {
    lanes.push_back(Open("fleet"));
    Put(lanes.back(), "fleet" + std::to_string(i));
  }
  const LanePtr alone = Open("alone");
  Put(alone, "alone0");
  Put(alone, "alone1");
  const LanePtr nameless = Open("");
  Put(nameless, "nameless0");
  EXPECT_THAT(TakeBatch(4), ElementsAre("fleet0", "alone0", "nameless0", "fleet1"));
  // The caller that waits longest is next; what is under way is passed over.
  EXPECT_THAT(TakeBatch(4), ElementsAre("fleet2", "fleet3"));
  EXPECT_THAT(TakeBatch(4), IsEmpty());
  EndTurns();
  EXPECT_THAT(TakeBatch(4), ElementsAre("alone1"));
}

TEST_F(FairQueueTest, ACallerHasAScanOfEachLaneBeforeTheSecondOfAny) {
  const LanePtr greedy = Open("fleet");
  const LanePtr modest = Open("fleet");
  for (int i = 0; i < 3; ++i) Put(greedy, "greedy" + std::to_string(i));
  for (int i = 0; i < 2; ++i) Put(modest, "modest" + std::to_string(i));
  EXPECT_THAT(TakeBatch(3), ElementsAre("greedy0", "greedy1", "modest0"));
  EndTurns();
  EXPECT_THAT(TakeBatch(10), ElementsAre("greedy2", "modest1"));
}

TEST_F(FairQueueTest, ABatchOfAllThatWaitsHasThemLaneByLane) {
  const LanePtr first = Open("fleet");
  const LanePtr other = Open("other");
  const LanePtr second = Open("fleet");
  for (const char* name : {"a0", "a1", "a2"}) Put(first, name);
  for (const char* name : {"b0", "b1"}) Put(other, name);
  Put(second, "c0");
  EXPECT_THAT(TakeBatch(10), ElementsAre("a0", "a1", "a2", "b0", "b1", "c0"));
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.scans(), 0u);
}

TEST_F(FairQueueTest, ABatchEndsWithTheScanThatReachesItsPoints) {
  const LanePtr lane = Open("fleet");
  for (const char* name : {"a", "b", "c"}) Put(lane, name);
  const std::vector<FairQueue::Group> batch = queue_.TakeBatch(10, /*max_points=*/2);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].scans.size(), 2u);
}

TEST_F(FairQueueTest, AFullLaneKeepsTheNewestInTheirOrder) {
  const LanePtr lane = queue_.OpenLane(2, "fleet");
  const auto put = [&](const char* name) {
    return NameOf(queue_.Put(lane, std::make_unique<WaitingTask>(name)));
  };
  EXPECT_EQ(put("a"), "");
  EXPECT_EQ(put("b"), "");
  EXPECT_EQ(put("c"), "a");
  EXPECT_EQ(queue_.scans(), 2u);
  EXPECT_THAT(TakeBatch(10), ElementsAre("b", "c"));
}

TEST_F(FairQueueTest, ALaneHoldsAtLeastOneScan) {
  const LanePtr lane = queue_.OpenLane(0, "fleet");
  EXPECT_EQ(queue_.Put(lane, std::make_unique<WaitingTask>("a")), nullptr);
  EXPECT_EQ(NameOf(queue_.Put(lane, std::make_unique<WaitingTask>("b"))), "a");
}

// Four of five scans of a full batch would be the fleet's if lanes were all that counted.
TEST_F(FairQueueTest, FullBatchesAreSharedByCallersForAsLongAsTheyWait) {
  std::vector<LanePtr> fleet;
  for (int i = 0; i < 40; ++i) {
    fleet.push_back(Open("fleet"));
    Put(fleet.back(), "fleet");
  }
  std::vector<LanePtr> others;
  for (int i = 0; i < 10; ++i) {
    others.push_back(Open("others"));
    Put(others.back(), "others");
  }
  std::map<std::string, int> taken;
  for (int batch = 0; batch < 4; ++batch) {
    for (const std::string& name : TakeBatch(5)) ++taken[name];
  }
  EXPECT_EQ(taken["fleet"], 10);
  EXPECT_EQ(taken["others"], 10);
}

TEST_F(FairQueueTest, NamelessLanesAreCallersOfTheirOwn) {
  max_scans_ = 120;
  EXPECT_EQ(Fill(Open("")), 60u);
  EXPECT_EQ(Fill(Open("")), 40u);
}

TEST_F(FairQueueTest, LanesOfOneCallerHaveOneShareOfWhatMayWait) {
  max_scans_ = 120;
  const LanePtr first = Open("fleet");
  // Half for callers who may come; of its own half, half for its lanes that may.
  EXPECT_EQ(Fill(first), 30u);
  const LanePtr second = Open("fleet");
  EXPECT_EQ(Fill(second), 20u);
  const LanePtr third = Open("fleet");
  EXPECT_EQ(Fill(third), 10u);
  EXPECT_EQ(Fill(Open("fleet")), 0u);  // 60, its share
  // Another caller, with one scan a lane, gets as much of what is left as its share allows.
  size_t others = 0;
  std::vector<LanePtr> lanes;
  while (others < 1000) {
    lanes.push_back(Open("others"));
    if (!Put(lanes.back(), "one")) break;
    ++others;
  }
  EXPECT_EQ(others, 40u);  // a third
  EXPECT_EQ(queue_.scans(), 100u);
  EXPECT_TRUE(Put(Open(""), "nameless"));
}

TEST_F(FairQueueTest, CountsTheScansBeforeTheNextOfALane) {
  const LanePtr greedy = Open("greedy");
  const LanePtr modest = Open("modest");
  EXPECT_EQ(queue_.ScansAhead(*greedy), 0u);
  for (const char* name : {"g1", "g2", "g3"}) ASSERT_TRUE(Put(greedy, name));
  EXPECT_EQ(queue_.ScansAhead(*modest), 1u);  // g1
  ASSERT_TRUE(Put(modest, "m1"));
  EXPECT_EQ(queue_.ScansAhead(*greedy), 4u);  // all: the next of `modest` has come by then
  EXPECT_EQ(queue_.ScansAhead(*modest), 3u);  // m1, and g1 and g2
  const LanePtr newest_wins = queue_.OpenLane(1, "newest wins");
  ASSERT_TRUE(Put(newest_wins, "n1"));
  EXPECT_EQ(queue_.ScansAhead(*newest_wins), 0u);
}

TEST_F(FairQueueTest, BytesAreSharedInTheSameWay) {
  max_bytes_ = 1200;
  const LanePtr first = Open("fleet");
  EXPECT_TRUE(Put(first, "large", 1000));  // the first scan of a caller, as long as there is room
  EXPECT_FALSE(Put(Open("fleet"), "more", 1));
  EXPECT_TRUE(Put(Open("other"), "other", 200));
  EXPECT_FALSE(Put(Open("third"), "third", 1));
  EXPECT_THAT(TakeBatch(1), ElementsAre("large"));
  EXPECT_TRUE(Put(Open("fleet"), "more", 400));
}

TEST_F(FairQueueTest, AClosedLaneIsPassedOverAndGivesItsShareBack) {
  const LanePtr closed = Open("fleet");
  Put(closed, "closed0");
  Put(closed, "closed1");
  const LanePtr open = Open("fleet");
  Put(open, "open");
  EXPECT_EQ(Close(closed), 2u);
  EXPECT_TRUE(FairQueue::IsClosed(*closed));
  EXPECT_EQ(queue_.scans(), 1u);
  EXPECT_THAT(TakeBatch(10), ElementsAre("open"));
  EXPECT_EQ(Close(open), 0u);
  EndTurns();
  EXPECT_TRUE(queue_.empty());
  const LanePtr last = Open("");
  Put(last, "last");
  EXPECT_EQ(Close(last), 1u);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, InTheSecondStageCallersHaveALaneInEachRound) {
  std::vector<LanePtr> fleet;
  for (int i = 0; i < 3; ++i) {
    fleet.push_back(Open("fleet"));
    Put(fleet.back(), "fleet");
  }
  const LanePtr alone = Open("alone");
  Put(alone, "alone");
  EXPECT_EQ(TakeBatch(10).size(), 4u);
  const uint64_t first = queue_.BeginSecondStage(*fleet[0], 100);
  EXPECT_EQ(FairQueue::RoundOf(*fleet[0]), first);
  EXPECT_EQ(FairQueue::RoundOf(*alone), 0u);
  EXPECT_EQ(queue_.BeginSecondStage(*fleet[1], 100), first + 1);
  EXPECT_EQ(queue_.BeginSecondStage(*fleet[2], 100), first + 2);
  EXPECT_EQ(queue_.BeginSecondStage(*alone, 100), first);
  EndTurns();
  EXPECT_EQ(FairQueue::RoundOf(*fleet[0]), 0u);
  // Whoever was not there gets nothing for it.
  queue_.SetRound(first + 5);
  Put(alone, "alone");
  EXPECT_EQ(TakeBatch(10).size(), 1u);
  EXPECT_EQ(queue_.BeginSecondStage(*alone, 100), first + 5);
}

TEST_F(FairQueueTest, ACallerWithItsShareOfTheSecondStageGetsNoTurn) {
  std::vector<LanePtr> fleet;
  for (int i = 0; i < 6; ++i) {
    fleet.push_back(Open("fleet"));
    Put(fleet.back(), "fleet" + std::to_string(i));
  }
  EXPECT_THAT(TakeBatch(2), ElementsAre("fleet0", "fleet1"));
  // Two of four, as nobody else is there yet.
  static_cast<void>(queue_.BeginSecondStage(*fleet[0], 4));
  EXPECT_FALSE(queue_.empty());
  static_cast<void>(queue_.BeginSecondStage(*fleet[1], 4));
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.scans(), 4u);
  Put(Open("fleet"), "newcomer");
  EXPECT_TRUE(queue_.empty());
  const LanePtr alone = Open("alone");
  Put(alone, "alone");
  EXPECT_THAT(TakeBatch(10), ElementsAre("alone"));
  EXPECT_EQ(Close(fleet[5]), 1u);
  queue_.EndTurn(fleet[0]);
  EXPECT_THAT(TakeBatch(10), ElementsAre("fleet2", "fleet3", "fleet4", "newcomer"));
  EndTurns();
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, ACallerWhoseLastLanesAreClosedMeanwhileComesBack) {
  const LanePtr first = Open("fleet");
  const LanePtr second = Open("fleet");
  Put(first, "first");
  Put(second, "second");
  EXPECT_THAT(TakeBatch(1), ElementsAre("first"));
  static_cast<void>(queue_.BeginSecondStage(*first, 1));
  EXPECT_EQ(Close(second), 1u);
  EndTurns();
  EXPECT_TRUE(queue_.empty());
  Put(first, "again");
  EXPECT_THAT(TakeBatch(1), ElementsAre("again"));
  // The end of the queue lets go of what waits of a caller who gets no turn.
  static_cast<void>(queue_.BeginSecondStage(*first, 1));
  Put(Open("fleet"), "third");
  EXPECT_EQ(DropLanes(), 1u);
}

TEST_F(FairQueueTest, ALaneThatNobodyElseHoldsKeepsItsScan) {
  Put(Open("peer"), "first");
  Put(Open("peer"), "second");
  EXPECT_THAT(TakeBatch(1), ElementsAre("first"));
  EndTurns();
  EXPECT_THAT(TakeBatch(1), ElementsAre("second"));
  EndTurns();
  // The end of the queue lets go of what waits.
  Put(Open("peer"), "third");
  Put(Open(""), "fourth");
  EXPECT_EQ(DropLanes(), 2u);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace voxloc::server
