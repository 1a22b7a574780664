// SPDX-License-Identifier: Apache-2.0
//
// What belongs to one engine is refused by the other, and is of no use to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/engine/replica/replicated_engine.h"
#include "cuda/cuda_engine.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

class CudaOtherEngineTest : public CudaEngineTest {};

TEST_F(CudaOtherEngineTest, MapsAreRefused) {
  const AlignResult on_device = AlignOne(CudaEngine(), SceneJob(PreciseProfile()));
  const AlignResult on_cpu = AlignOne(CpuEngine(), CudaSceneJob(PreciseProfile()));
  for (const absl::Status& status : {on_device.status, on_cpu.status}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("does not belong"));
  }
  ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 2, SceneMapPair().cpu);
  EXPECT_EQ(CudaEngine().Score(request).status().code(), absl::StatusCode::kFailedPrecondition);
  request.map = SceneMapPair().cuda;
  EXPECT_EQ(CpuEngine().Score(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CudaOtherEngineTest, TilesAreRefused) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  const auto of_cpu = CpuEngine().BuildTile(SceneMap(), statistics);
  const auto of_device = CudaEngine().BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(of_cpu.ok()) << of_cpu.status();
  ASSERT_TRUE(of_device.ok()) << of_device.status();
  for (const auto& map : {CudaEngine().Compose({*of_cpu}, statistics, nullptr),
                          CpuEngine().Compose({*of_device}, statistics, nullptr)}) {
    EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument) << map.status();
    EXPECT_THAT(std::string(map.status().message()), HasSubstr("belong"));
  }
}

// Of either engine's bytes the other makes the tile that the first one has, to the bit.
TEST_F(CudaOtherEngineTest, ExportedTilesAreImported) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  const PointCloud cloud = SceneMap();
  for (Engine* const from : {&CpuEngine(), &CudaEngine()}) {
    Engine& to = from == &CpuEngine() ? CudaEngine() : CpuEngine();
    const auto tile = from->BuildTile(cloud, statistics);
    ASSERT_TRUE(tile.ok()) << tile.status();
    const auto bytes = from->ExportTile(**tile);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(to.ExportTile(**tile).status().code(), absl::StatusCode::kInvalidArgument);
    const auto there = to.ImportTile(*bytes);
    ASSERT_TRUE(there.ok()) << there.status();
    EXPECT_EQ((*there)->points(), cloud.size());
    EXPECT_EQ((*there)->cells(), (*tile)->cells());
    const auto bytes_there = to.ExportTile(**there);
    ASSERT_TRUE(bytes_there.ok()) << bytes_there.status();
    EXPECT_TRUE(*bytes_there == *bytes);
    const auto map = to.Compose({*there}, statistics, nullptr);
    ASSERT_TRUE(map.ok()) << map.status();
    const AlignResult aligned = AlignOne(to, SceneJob(PreciseProfile(), *map));
    ASSERT_TRUE(aligned.status.ok()) << aligned.status;
    EXPECT_LE(TranslationDistance(aligned.map_T_base, ScenePose()), 0.05);
  }
}

// A second engine, here on the same device, takes tiles of the first as they are.
TEST_F(CudaOtherEngineTest, TilesAreCopied) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  auto other = MakeCudaEngine({});
  ASSERT_TRUE(other.ok()) << other.status();
  const auto tile = CudaEngine().BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(tile.ok()) << tile.status();
  const auto copy = (*other)->CopyTile(**tile);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ((*copy)->points(), (*tile)->points());
  EXPECT_EQ((*copy)->MemoryBytes(), (*tile)->MemoryBytes());
  const auto bytes = CudaEngine().ExportTile(**tile);
  const auto bytes_of_copy = (*other)->ExportTile(**copy);
  ASSERT_TRUE(bytes.ok() && bytes_of_copy.ok());
  EXPECT_TRUE(*bytes == *bytes_of_copy);
  EXPECT_EQ((*other)->Compose({*tile}, statistics, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto map = (*other)->Compose({*copy}, statistics, nullptr);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_TRUE(Bits(AlignOne(**other, SceneJob(PreciseProfile(), *map))) ==
              Bits(AlignOne(CudaEngine(), CudaSceneJob(PreciseProfile()))));
  const auto of_cpu = CpuEngine().BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(of_cpu.ok()) << of_cpu.status();
  EXPECT_EQ((*other)->CopyTile(**of_cpu).status().code(), absl::StatusCode::kInvalidArgument);
}

// Behind one engine, each of two finds its part of the map; others find none.
TEST_F(CudaOtherEngineTest, PartsOfAMapAreFoundByTheirEngines) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 2; ++i) {
    auto engine = MakeCudaEngine({});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engines.push_back(*std::move(engine));
  }
  const auto both = MakeReplicatedEngine(std::move(engines));
  ASSERT_TRUE(both.ok()) << both.status();
  const auto map = LoadMap(**both, {SceneMap()}, AllStatistics());
  const AlignJob job = SceneJob(PreciseProfile(), map);
  const std::string expected = Bits(AlignOne(CudaEngine(), CudaSceneJob(PreciseProfile())));
  std::vector<size_t> aligned(2);
  std::vector<AlignJob> jobs(16, job);
  for (AlignJob& one : jobs) one.with_device_times = true;
  for (const AlignResult& result : (*both)->Align(jobs)) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_TRUE(Bits(result) == expected);
    ++aligned[result.device_times->device];
  }
  EXPECT_GT(aligned[0], 0u);
  EXPECT_GT(aligned[1], 0u);
  ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 600, map);
  const auto scores = (*both)->Score(request);
  ASSERT_TRUE(scores.ok()) << scores.status();
  request.map = SceneMapPair().cuda;
  const auto alone = CudaEngine().Score(request);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_TRUE(Bits(*scores) == Bits(*alone));
  for (Engine* const other : {&CpuEngine(), &CudaEngine()}) {
    EXPECT_EQ(AlignOne(*other, job).status.code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(CudaOtherEngineTest, APredecessorLendsNothing) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  const auto tile = CudaEngine().BuildTile(SceneMap(), statistics);
  ASSERT_TRUE(tile.ok()) << tile.status();
  std::vector<std::string> bits;
  for (const ResidentMap* previous :
       {static_cast<const ResidentMap*>(nullptr), SceneMapPair().cpu.get()}) {
    const auto map = CudaEngine().Compose({*tile}, statistics, previous);
    ASSERT_TRUE(map.ok()) << map.status();
    AlignJob job = SceneJob(PreciseProfile(), *map);
    job.with_point_scores = true;
    bits.push_back(Bits(AlignOne(CudaEngine(), job)));
  }
  EXPECT_TRUE(bits[0] == bits[1]);
}

}  // namespace
}  // namespace voxloc
