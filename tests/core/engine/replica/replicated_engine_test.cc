// SPDX-License-Identifier: Apache-2.0
//
// Several engines behind one, while all of them work.

#include "core/engine/replica/replicated_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "core/status/try.h"
#include "tests/core/engine/replica/replicated_scene.h"
#include "tests/support/class_recorder.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<Engine> MakePart(const std::string& name = "cpu") {
  return std::make_unique<FaultyEngine>(std::make_shared<Faults>(), name);
}

TEST(ReplicatedEngineTest, NoEngineANullOneAndDifferentKindsAreRefused) {
  EXPECT_EQ(MakeReplicatedEngine({}).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(MakePart());
  engines.push_back(nullptr);
  const auto with_null = MakeReplicatedEngine(std::move(engines));
  EXPECT_EQ(with_null.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(with_null.status().message(), HasSubstr("engine 1"));
  engines.clear();
  engines.push_back(MakePart());
  engines.push_back(MakePart("cuda"));
  const auto mixed = MakeReplicatedEngine(std::move(engines));
  EXPECT_EQ(mixed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(mixed.status().message(), HasSubstr("(got cpu and cuda as engine 1)"));
}

TEST(ReplicatedEngineTest, OneEngineIsItself) {
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(MakePart());
  const Engine* const alone = engines[0].get();
  const auto engine = MakeReplicatedEngine(std::move(engines));
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_EQ(engine->get(), alone);
}

TEST(ReplicatedEngineTest, EveryEngineIsToldTheClassOfWork) {
  std::vector<std::unique_ptr<Engine>> parts;
  std::vector<ClassRecorder*> recorders;
  for (int i = 0; i < 2; ++i) {
    auto part = std::make_unique<ClassRecorder>();
    recorders.push_back(part.get());
    parts.push_back(std::move(part));
  }
  const auto engine = MakeReplicatedEngine(std::move(parts));
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto map = LoadMap(**engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  for (const WorkClass work_class :
       {WorkClass::kTracking, WorkClass::kSearching, WorkClass::kScoring, WorkClass::kMapping}) {
    std::vector<AlignJob> jobs = FleetJobs(map, 16);
    for (AlignJob& job : jobs) job.work_class = work_class;
    for (const AlignResult& result : (*engine)->Align(jobs)) EXPECT_TRUE(result.status.ok());
    ScoreRequest request;
    request.map = map;
    request.scan = jobs[0].scan;
    request.stage = jobs[0].profile.stages[0];
    request.map_T_base.assign(1000, ScenePose());
    request.work_class = work_class;
    EXPECT_TRUE((*engine)->Score(request).ok());
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE((*engine)->Filter(*jobs[0].scan, FilterOptions(), work_class).ok());
    }
    for (ClassRecorder* recorder : recorders) {
      const RecordedClasses classes = recorder->Take();
      EXPECT_THAT(classes.align, ElementsAre(work_class));
      EXPECT_THAT(classes.score, ElementsAre(work_class));
      EXPECT_THAT(classes.filter, ElementsAre(work_class));
    }
  }
}

// A CPU engine that passes for a device.
class TimedEngine : public ForwardingEngine {
 public:
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    VOXLOC_TRY(ForwardingEngine::DoAlign(jobs, results));
    for (AlignResult& result : results) result.device_times = DeviceTimes();
    return absl::OkStatus();
  }
};

TEST(ReplicatedEngineTest, DeviceTimesNameTheEngineThatAligned) {
  std::vector<std::unique_ptr<Engine>> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(std::make_unique<TimedEngine>());
  const auto engine = MakeReplicatedEngine(std::move(parts));
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto map = LoadMap(**engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  std::vector<size_t> devices(3);
  for (const AlignResult& result : (*engine)->Align(FleetJobs(map, 12))) {
    ASSERT_TRUE(result.device_times.has_value());
    ASSERT_LT(result.device_times->device, devices.size());
    ++devices[result.device_times->device];
  }
  EXPECT_THAT(devices, ElementsAre(4, 4, 4));
}

TEST(ReplicatedEngineTest, AlignmentsAreThoseOfOneEngineInTheJobsOrder) {
  for (const size_t engines : {2, 3}) {
    const Fleet fleet = MakeFleet(engines);
    for (const size_t count : {1, 2, 3, 17}) {
      const std::vector<AlignJob> jobs = FleetJobs(fleet.map, count);
      ExpectAsAlone(fleet.engine->Align(jobs), jobs);
    }
    EXPECT_THAT(fleet.engine->Align({}), IsEmpty());
  }
}

TEST(ReplicatedEngineTest, ScoresAreThoseOfOneEngineInThePosesOrder) {
  const Fleet fleet = MakeFleet(3);
  for (const size_t poses : {0, 1, 255, 257, 2000}) {
    const ScoreRequest request = FleetRequest(fleet.map, poses);
    ExpectAsAlone(fleet.engine->Score(request), request);
  }
}

TEST(ReplicatedEngineTest, ABatchIsSplitOverAllEngines) {
  const Fleet fleet = MakeFleet(3);
  (void)fleet.engine->Align(FleetJobs(fleet.map, 12));
  for (const auto& faults : fleet.faults) EXPECT_THAT(faults->batches(), ElementsAre(4));
  ASSERT_TRUE(fleet.engine->Score(FleetRequest(fleet.map, 3 * 256)).ok());
  for (const auto& faults : fleet.faults) EXPECT_THAT(faults->batches(), ElementsAre(4, 256));
}

TEST(ReplicatedEngineTest, ALoneJobGoesToTheEngineWithTheLeastToDo) {
  const Fleet fleet = MakeFleet(2);
  const std::vector<AlignJob> jobs = FleetJobs(fleet.map, 1);
  fleet.faults[0]->Close();
  std::thread first([&] { ExpectAsAlone(fleet.engine->Align(jobs), jobs); });
  fleet.faults[0]->AwaitBatches(1);
  for (int i = 0; i < 3; ++i) ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  EXPECT_THAT(fleet.faults[0]->batches(), ElementsAre(1));
  EXPECT_THAT(fleet.faults[1]->batches(), ElementsAre(1, 1, 1));
  fleet.faults[0]->Open();
  first.join();
}

TEST(ReplicatedEngineTest, AJobsOwnErrorIsItsOwnAndIsNotTriedElsewhere) {
  const Fleet fleet = MakeFleet(2);
  std::vector<AlignJob> jobs = FleetJobs(fleet.map, 4);
  jobs[2].scan = std::make_shared<const PointCloud>();
  jobs[3].scan = nullptr;
  const auto results = fleet.engine->Align(jobs);
  EXPECT_TRUE(results[0].status.ok() && results[1].status.ok());
  EXPECT_EQ(results[2].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(results[3].status.code(), absl::StatusCode::kInvalidArgument);
  size_t tried = 0;
  for (const auto& faults : fleet.faults) {
    const std::vector<size_t> batches = faults->batches();
    tried += std::accumulate(batches.begin(), batches.end(), size_t{0});
  }
  EXPECT_EQ(tried, 4u);

  ScoreRequest request = FleetRequest(fleet.map, 600);
  request.map_T_base[500].translation.x() = HUGE_VAL;
  EXPECT_EQ(fleet.engine->Score(request).status().code(), absl::StatusCode::kInvalidArgument);
  request = FleetRequest(fleet.map, 0);
  request.scan = nullptr;
  EXPECT_EQ(fleet.engine->Score(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ReplicatedEngineTest, MapsAndTilesOfAnotherEngineAreRefused) {
  const Fleet fleet = MakeFleet(2);
  const Fleet other = MakeFleet(2);
  for (const auto& map : {SharedScene().map, other.map, std::shared_ptr<const ResidentMap>()}) {
    EXPECT_EQ(fleet.engine->Align(FleetJobs(map, 1))[0].status.code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(fleet.engine->Score(FleetRequest(map, 1)).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const auto foreign = other.engine->BuildTile(SceneScan(ScenePose(), 500), statistics);
  ASSERT_TRUE(foreign.ok());
  EXPECT_EQ(fleet.engine->Compose({*foreign}, statistics, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fleet.engine->Compose({nullptr}, statistics, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ReplicatedEngineTest, TilesAndMapsTellOfOneAndWeighAsMuchAsOnOne) {
  const Fleet fleet = MakeFleet(3);
  const auto alone = MakeCpuEngine({1});
  const PointCloud cloud = SceneMap();
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const auto tile = fleet.engine->BuildTile(cloud, statistics);
  const auto tile_alone = alone->BuildTile(cloud, statistics);
  ASSERT_TRUE(tile.ok() && tile_alone.ok());
  EXPECT_EQ((*tile)->points(), (*tile_alone)->points());
  EXPECT_EQ((*tile)->not_finite(), (*tile_alone)->not_finite());
  EXPECT_EQ((*tile)->cells(), (*tile_alone)->cells());
  EXPECT_EQ((*tile)->MemoryBytes(), (*tile_alone)->MemoryBytes());

  const auto map = fleet.engine->Compose({*tile}, statistics, nullptr);
  const auto map_alone = alone->Compose({*tile_alone}, statistics, nullptr);
  ASSERT_TRUE(map.ok() && map_alone.ok());
  EXPECT_EQ((*map)->statistics(), (*map_alone)->statistics());
  EXPECT_EQ((*map)->cells(0), (*map_alone)->cells(0));
  EXPECT_EQ((*map)->MemoryBytes(), (*map_alone)->MemoryBytes());
  const std::vector<MapCell> cells = AllCells(**map, statistics[0]);
  const std::vector<MapCell> cells_alone = AllCells(**map_alone, statistics[0]);
  ASSERT_EQ(cells.size(), cells_alone.size());
  for (size_t i = 0; i < cells.size(); ++i) EXPECT_EQ(cells[i].mean, cells_alone[i].mean);
}

TEST(ReplicatedEngineTest, APreviousMapLendsItsPartToEachEngine) {
  const Fleet fleet = MakeFleet(2);
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const auto tile = fleet.engine->BuildTile(SceneScan(ScenePose(), 500), statistics);
  ASSERT_TRUE(tile.ok());
  ASSERT_TRUE(fleet.engine->Compose({*tile}, statistics, fleet.map.get()).ok());
  for (const auto& faults : fleet.faults) EXPECT_EQ(faults->compositions_with_previous, 1u);
  // Another engine's map lends nothing.
  ASSERT_TRUE(fleet.engine->Compose({*tile}, statistics, SharedScene().map.get()).ok());
  for (const auto& faults : fleet.faults) EXPECT_EQ(faults->compositions_with_previous, 1u);
}

TEST(ReplicatedEngineTest, TilesAreExportedByOneEngineAndImportedByAll) {
  const Fleet fleet = MakeFleet(2);
  const auto alone = MakeCpuEngine({1});
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const auto tile = fleet.engine->BuildTile(SceneMap(), statistics);
  const auto tile_alone = alone->BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(tile.ok() && tile_alone.ok());
  const auto bytes = fleet.engine->ExportTile(**tile);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(*bytes == *alone->ExportTile(**tile_alone));
  const auto imported = fleet.engine->ImportTile(*bytes);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ((*imported)->MemoryBytes(), (*tile_alone)->MemoryBytes());
  const auto map = fleet.engine->Compose({*imported}, statistics, nullptr);
  ASSERT_TRUE(map.ok()) << map.status();
  const std::vector<AlignJob> jobs = FleetJobs(*map, 4);
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);

  // One engine fails within the call; the other goes on.
  fleet.faults[0]->fail_in_export = true;
  EXPECT_TRUE(*fleet.engine->ExportTile(**tile) == *bytes);
  EXPECT_EQ(fleet.engine->ExportTile(**tile_alone).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fleet.engine->ImportTile(bytes->substr(1)).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(ReplicatedEngineTest, ATileIsMadeOnceByEachEngineInTurnAndCopied) {
  const Fleet fleet = MakeEmptyFleet(3);
  const auto alone = MakeCpuEngine({1});
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const auto bytes = alone->ExportTile(**alone->BuildTile(SceneMap(), statistics));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  for (size_t tiles = 1; tiles <= 6; ++tiles) {
    const auto tile = tiles % 2 == 0 ? fleet.engine->ImportTile(*bytes)
                                     : fleet.engine->BuildTile(SceneMap(), statistics);
    ASSERT_TRUE(tile.ok()) << tile.status();
    size_t copied = 0;
    for (const auto& faults : fleet.faults) copied += faults->copied;
    EXPECT_EQ(copied, 2 * tiles);
    // The parts are alike on all engines.
    const auto map = fleet.engine->Compose({*tile}, statistics, nullptr);
    ASSERT_TRUE(map.ok()) << map.status();
    const std::vector<AlignJob> jobs = FleetJobs(*map, 6);
    ExpectAsAlone(fleet.engine->Align(jobs), jobs);
  }
  for (const auto& faults : fleet.faults) EXPECT_EQ(faults->copied, 4u);
}

TEST(ReplicatedEngineTest, AnEngineThatCannotCopyMakesItsOwn) {
  const Fleet fleet = MakeEmptyFleet(2);
  for (const auto& faults : fleet.faults) faults->cannot_copy = true;
  const auto statistics = RequiredStatistics({AutowareProfile()});
  const auto tile = fleet.engine->BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(tile.ok()) << tile.status();
  for (const auto& faults : fleet.faults) EXPECT_EQ(faults->built, 1u);
  const auto map = fleet.engine->Compose({*tile}, statistics, nullptr);
  ASSERT_TRUE(map.ok()) << map.status();
  const std::vector<AlignJob> jobs = FleetJobs(*map, 4);
  ExpectAsAlone(fleet.engine->Align(jobs), jobs);
}

}  // namespace
}  // namespace voxloc
