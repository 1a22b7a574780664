// SPDX-License-Identifier: Apache-2.0
//
// A pair of made-up GPUs with a CPU engine behind them: tiles and maps of the one are not those of
// the other, as with a real GPU.

#include "core/engine/failover/failover_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/core/engine/replica/replicated_scene.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FailoverEngineTest : public ::testing::Test {
 protected:
  FailoverEngineTest() {
    Fleet gpus = MakeEmptyFleet(2);
    faults_ = gpus.faults;
    std::vector<std::unique_ptr<Engine>> engines;
    engines.push_back(std::move(gpus.engine));
    last_faults_ = std::make_shared<Faults>();
    engines.push_back(std::make_unique<FaultyEngine>(last_faults_, "spare"));
    engine_ = std::make_unique<FailoverEngine>(std::move(engines));
  }

  void FailFirst() {
    for (const auto& faults : faults_) faults->failed = true;
  }
  [[nodiscard]] std::shared_ptr<const ResidentMap> Load() {
    return LoadMap(*engine_, {SceneMap()}, statistics_);
  }

  const std::vector<CellStatistics> statistics_ = RequiredStatistics({AutowareProfile()});
  std::vector<std::shared_ptr<Faults>> faults_;
  std::shared_ptr<Faults> last_faults_;
  std::unique_ptr<FailoverEngine> engine_;
};

TEST_F(FailoverEngineTest, ServesWithTheFirstWhileItCan) {
  const std::vector<AlignJob> jobs = FleetJobs(Load(), 4);
  ExpectAsAlone(engine_->Align(jobs), jobs);
  EXPECT_EQ(engine_->takeovers(), 0u);
  EXPECT_EQ(engine_->name(), "cpu");
  EXPECT_EQ(engine_->note(), "");
  EXPECT_EQ(engine_->Info().parts.size(), 2u);
  EXPECT_TRUE(last_faults_->batches().empty());
}

TEST_F(FailoverEngineTest, ACallThatFailsBringsTheNextAndItsMapsAreMadeAnew) {
  const auto old_map = Load();
  const std::vector<AlignJob> old_jobs = FleetJobs(old_map, 4);
  for (const auto& faults : faults_) faults->fail_in_align = true;
  size_t failed = 0;
  for (const AlignResult& result : engine_->Align(old_jobs)) failed += result.status.ok() ? 0 : 1;
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(engine_->takeovers(), 1u);
  EXPECT_TRUE(engine_->Health().ok());

  // The map is the failed engine's.
  for (const AlignResult& result : engine_->Align(old_jobs)) {
    EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_FALSE(engine_->Score(FleetRequest(old_map, 10)).ok());

  const std::vector<AlignJob> jobs = FleetJobs(Load(), 4);
  ExpectAsAlone(engine_->Align(jobs), jobs);
}

TEST_F(FailoverEngineTest, WhatNeedsNoMapGoesOnWithinTheCall) {
  FailFirst();
  const auto tile = engine_->BuildTile(SceneMap(), statistics_);
  ASSERT_TRUE(tile.ok()) << tile.status();
  EXPECT_EQ(engine_->takeovers(), 1u);
  EXPECT_TRUE(engine_->ExportTile(**tile).ok());
}

TEST_F(FailoverEngineTest, ComposesWithoutTheMapOfAFailedEngine) {
  const auto old_map = Load();
  FailFirst();
  const auto empty = engine_->Compose({}, statistics_, old_map.get());
  EXPECT_FALSE(empty.ok()) << "the call that finds the failure out fails itself";
  const auto again = engine_->Compose({}, statistics_, old_map.get());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->cells(0), 0u);
}

TEST_F(FailoverEngineTest, HealthFindsAFailureOutThatStaysOut) {
  FailFirst();
  EXPECT_TRUE(engine_->Health().ok());
  EXPECT_EQ(engine_->takeovers(), 1u);
  EXPECT_EQ(engine_->name(), "spare");
  EXPECT_THAT(engine_->note(), HasSubstr("fell off the bus"));
  std::vector<bool> healthy;
  for (const EngineInfo& device : engine_->Info().parts) healthy.push_back(device.healthy);
  EXPECT_THAT(healthy, ElementsAre(false, false, true));
  for (const auto& faults : faults_) faults->failed = false;
  EXPECT_EQ(engine_->takeovers(), 1u);
  EXPECT_EQ(engine_->name(), "spare");
}

TEST_F(FailoverEngineTest, PassesOverAStandbyThatHasFailedItself) {
  Fleet gpus = MakeEmptyFleet(2);
  auto second = std::make_shared<Faults>();
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(std::move(gpus.engine));
  engines.push_back(std::make_unique<FaultyEngine>(second, "second"));
  engines.push_back(MakeCpuEngine({1}));
  const FailoverEngine engine(std::move(engines));
  second->failed = true;
  for (const auto& faults : gpus.faults) faults->failed = true;
  EXPECT_TRUE(engine.Health().ok());
  EXPECT_EQ(engine.takeovers(), 2u);
  EXPECT_EQ(engine.name(), "cpu");
  EXPECT_THAT(engine.note(), HasSubstr("second: "));
}

TEST_F(FailoverEngineTest, SaysSoWhenNoneIsLeft) {
  FailFirst();
  last_faults_->failed = true;
  EXPECT_EQ(engine_->Health().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(engine_->takeovers(), 0u);
  EXPECT_EQ(engine_->BuildTile(SceneMap(), statistics_).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(FailoverEngineTest, CallsOfManyThreadsFindOneNextEngine) {
  std::atomic<int> built{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        if (engine_->BuildTile(SceneMap(), statistics_).ok()) ++built;
        if (round == 1) FailFirst();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(built, 20);
  EXPECT_EQ(engine_->takeovers(), 1u);
}

}  // namespace
}  // namespace voxloc
