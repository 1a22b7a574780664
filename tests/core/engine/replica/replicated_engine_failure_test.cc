// SPDX-License-Identifier: Apache-2.0
//
// Several engines behind one, of which some fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/core/engine/replica/replicated_scene.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReplicatedEngineFailureTest, JobsOfAnEngineThatFailsRunAgainOnAnother) {
  const Fleet fleet = MakeFleet(3);
  const std::vector<AlignJob> jobs = FleetJobs(fleet.map, 12);
  fleet.faults[1]->fail_in_align = true;
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  // Three of its four jobs, over the two that are left.
  EXPECT_EQ(fleet.faults[0]->batches().size() + fleet.faults[2]->batches().size(), 4u);
  EXPECT_TRUE(fleet.engine->Health().ok());
  // It gets no more work.
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  EXPECT_THAT(fleet.faults[1]->batches(), ElementsAre(4));
}

TEST(ReplicatedEngineFailureTest, PosesOfAnEngineThatFailsAreScoredAgainOnAnother) {
  const Fleet fleet = MakeFleet(2);
  const ScoreRequest request = FleetRequest(fleet.map, 1000);
  fleet.faults[0]->fail_in_score = true;
  ExpectAsAlone(fleet.engine->Score(request), request);
  EXPECT_EQ(fleet.faults[0]->batches().size(), 1u);
  ExpectAsAlone(fleet.engine->Score(request), request);
  EXPECT_EQ(fleet.faults[0]->batches().size(), 1u);
}

TEST(ReplicatedEngineFailureTest, ALoneJobSurvivesAllEnginesButOne) {
  const Fleet fleet = MakeFleet(3);
  const std::vector<AlignJob> jobs = FleetJobs(fleet.map, 1);
  fleet.faults[0]->fail_in_align = true;
  fleet.faults[1]->fail_in_align = true;
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  EXPECT_THAT(fleet.faults[2]->batches(), ElementsAre(1));
}

TEST(ReplicatedEngineFailureTest, AnEngineThatRecoversStaysOut) {
  const Fleet fleet = MakeFleet(2);
  fleet.faults[0]->failed = true;
  EXPECT_TRUE(fleet.engine->Health().ok());
  fleet.faults[0]->failed = false;
  const std::vector<AlignJob> jobs = FleetJobs(fleet.map, 4);
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  EXPECT_TRUE(fleet.faults[0]->batches().empty());
}

TEST(ReplicatedEngineFailureTest, WithoutAnyEngineEverythingSaysSo) {
  const Fleet fleet = MakeFleet(2);
  for (const auto& faults : fleet.faults) faults->fail_in_align = true;
  const auto results = fleet.engine->Align(FleetJobs(fleet.map, 6));
  // The first job of each half got through before its engine failed.
  for (const size_t i : {0, 3}) EXPECT_TRUE(results[i].status.ok()) << i;
  for (const size_t i : {1, 2, 4, 5}) {
    EXPECT_EQ(results[i].status.code(), absl::StatusCode::kUnavailable) << i;
    EXPECT_THAT(results[i].status.message(), HasSubstr("fell off the bus"));
  }
  const auto unavailable = absl::StatusCode::kUnavailable;
  EXPECT_EQ(fleet.engine->Health().code(), unavailable);
  EXPECT_EQ(fleet.engine->Align(FleetJobs(fleet.map, 1))[0].status.code(), unavailable);
  EXPECT_EQ(fleet.engine->Score(FleetRequest(fleet.map, 10)).status().code(), unavailable);
  const auto statistics = RequiredStatistics({AutowareProfile()});
  EXPECT_EQ(fleet.engine->BuildTile(SceneMap(), statistics).status().code(), unavailable);
  EXPECT_EQ(fleet.engine->Compose({}, statistics, nullptr).status().code(), unavailable);
  const Eigen::Vector3d reach = Eigen::Vector3d::Constant(1e6);
  EXPECT_EQ(fleet.map->CellsInBox(0, -reach, reach, 1'000'000).status().code(), unavailable);
  // What has been built still tells of itself.
  EXPECT_GT(fleet.map->cells(0), 0u);
}

TEST(ReplicatedEngineFailureTest, ATileIsBuiltOnAllEnginesOrOnNone) {
  const Fleet fleet = MakeFleet(2);
  const auto statistics = RequiredStatistics({AutowareProfile()});
  fleet.faults[1]->out_of_memory = true;
  // The engines build in turn, and each copies what the other has built.
  for (int turn = 0; turn < 2; ++turn) {
    fleet.faults[0]->last_tile.reset();
    EXPECT_EQ(fleet.engine->BuildTile(SceneMap(), statistics).status().code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(fleet.faults[0]->last_tile.expired()) << "the other engine keeps its part";
  }
  EXPECT_EQ(fleet.faults[0]->built, 2u) << "for the map, and once in vain";
  EXPECT_EQ(fleet.engine->Compose({}, statistics, nullptr).status().code(),
            absl::StatusCode::kResourceExhausted);
  // No memory is no failure of the engine.
  const std::vector<AlignJob> jobs = FleetJobs(fleet.map, 4);
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  EXPECT_THAT(fleet.faults[1]->batches(), ElementsAre(2));
  fleet.faults[1]->out_of_memory = false;
  EXPECT_TRUE(fleet.engine->BuildTile(SceneMap(), statistics).ok());
}

TEST(ReplicatedEngineFailureTest, MapsAreBuiltAndServedByTheEnginesThatAreLeft) {
  const Fleet fleet = MakeFleet(3);
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const size_t before = fleet.map->MemoryBytes();
  // One fails while a tile is built, another before.
  fleet.faults[0]->failed = true;
  fleet.faults[2]->fail_in_build = true;
  const auto tile = fleet.engine->BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(tile.ok()) << tile.status();
  const auto map = fleet.engine->Compose({*tile}, statistics, fleet.map.get());
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ((*map)->MemoryBytes(), before);
  for (const auto& served : {*map, fleet.map}) {
    const std::vector<AlignJob> jobs = FleetJobs(served, 5);
    ExpectAsAlone(fleet.engine->Align(jobs), jobs);
    EXPECT_EQ(AllCells(*served, statistics[0]).size(), served->cells(0));
  }
  EXPECT_TRUE(fleet.faults[0]->batches().empty());
  EXPECT_TRUE(fleet.faults[2]->batches().empty());
}

// Threads add up. Each device holds every map, so the one with the least memory has the room that
// there is for maps, and the fullest one what is free.
TEST(ReplicatedEngineFailureTest, InfoTellsTheRoomForMapsAndWhatIsOutOfService) {
  const Fleet fleet = MakeFleet(3);
  fleet.faults[1]->memory_bytes_total = 800;
  fleet.faults[1]->memory_bytes_free = 700;
  fleet.faults[2]->memory_bytes_free = 500;
  const EngineInfo whole = fleet.engine->Info();
  EXPECT_EQ(whole.name, "cpu");
  EXPECT_EQ(whole.device, "3 x card");
  EXPECT_EQ(whole.threads, 3u);
  EXPECT_EQ(whole.memory_bytes_total, 800u);
  EXPECT_EQ(whole.memory_bytes_free, 500u);
  ASSERT_EQ(whole.parts.size(), 3u);
  for (const EngineInfo& part : whole.parts) EXPECT_TRUE(part.device == "card" && part.healthy);
  fleet.faults[1]->failed = true;
  const EngineInfo info = fleet.engine->Info();
  EXPECT_EQ(info.device, "3 x card (1 out of service)");
  EXPECT_EQ(info.memory_bytes_total, 1000u);
  EXPECT_EQ(info.memory_bytes_free, 500u);
  EXPECT_EQ(info.parts[1].memory_bytes_total, 800u);
  ASSERT_EQ(info.parts.size(), 3u);
  EXPECT_TRUE(info.parts[0].healthy);
  EXPECT_FALSE(info.parts[1].healthy);
  EXPECT_TRUE(info.parts[2].healthy);
}

TEST(ReplicatedEngineFailureTest, NoJobIsLostWhenAnEngineFailsAmongManyCalls) {
  const Fleet fleet = MakeFleet(2);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&fleet, thread] {
      for (size_t round = 0; round < 6; ++round) {
        if (thread == 0 && round == 2) fleet.faults[0]->failed = true;
        const std::vector<AlignJob> jobs = FleetJobs(fleet.map, 1 + (thread + round) % 5);
        ExpectAsAlone(fleet.engine->Align(jobs), jobs);
        const ScoreRequest request = FleetRequest(fleet.map, 300);
        ExpectAsAlone(fleet.engine->Score(request), request);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace voxloc
