// SPDX-License-Identifier: Apache-2.0
//
// Much at once, and more than there is memory for: an answer or a status, and the engine goes on.

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cuda/cuda_engine.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

// The points of a cloud again and again, each time a little elsewhere.
PointCloud Repeated(const PointCloud& cloud, size_t points) {
  PointCloud more;
  more.Reserve(points);
  for (size_t i = 0; i < points; ++i) {
    const auto round = static_cast<float>(i / cloud.size() % 1024);
    const size_t at = i % cloud.size();
    more.PushBack(cloud.x[at] + 1e-5F * round, cloud.y[at] - 1e-5F * round, cloud.z[at]);
  }
  return more;
}

class CudaLimitsTest : public CudaEngineTest {};

TEST_F(CudaLimitsTest, AScanOfTenMillionPointsIsAlignedAsOnTheCpu) {
  AlignJob job = SceneJob(AutowareProfile());
  job.scan =
      std::make_shared<const PointCloud>(Repeated(SceneScan(ScenePose(), 100'000), 10'000'000));
  job.map_T_base_guess = Displaced(ScenePose(), {0.1, -0.1, 0.0}, 0.01);
  job.profile.stages[0].max_iterations = 2;
  const absl::Time start = absl::Now();
  const ResultPair results = AlignOnBoth({job}, SceneMapPair());
  std::cout << "on both engines: " << absl::Now() - start << std::endl;
  ASSERT_TRUE(results.cuda[0].status.ok()) << results.cuda[0].status;
  const AlignResult& cuda = results.cuda[0];
  const AlignResult& cpu = results.cpu[0];
  EXPECT_EQ(cuda.after.points, 10'000'000u);
  EXPECT_NEAR(cuda.before.score, cpu.before.score, 1e-5 * cpu.before.score);
  EXPECT_NEAR(cuda.before.nearest_voxel_likelihood, cpu.before.nearest_voxel_likelihood, 1e-4);
  EXPECT_LE(TranslationDistance(cuda.map_T_base, cpu.map_T_base), 1e-3);
}

TEST_F(CudaLimitsTest, AMapOfTenMillionPointsIsBuiltAsOnTheCpu) {
  SceneOptions options;
  const MapPair maps = LoadMapPair({Repeated(SceneMap(options), 10'000'000)}, AllStatistics());
  ASSERT_NE(maps.cpu, nullptr);
  ASSERT_NE(maps.cuda, nullptr);
  for (size_t i = 0; i < AllStatistics().size(); ++i) {
    EXPECT_EQ(maps.cuda->cells(i), maps.cpu->cells(i)) << i;
  }
}

TEST_F(CudaLimitsTest, AHundredThousandJobsAreAnsweredInOneCall) {
  const auto scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 100));
  std::vector<AlignJob> jobs(100'000, CudaSceneJob(AutowareProfile()));
  constexpr size_t kStarts = 100;
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].scan = scan;
    const double share = static_cast<double>(i % kStarts) / kStarts;
    jobs[i].map_T_base_guess = Displaced(ScenePose(), {0.3 * share, -0.2 * share, 0.0}, 0.01);
  }
  const absl::Time start = absl::Now();
  const std::vector<AlignResult> results = CudaEngine().Align(jobs);
  std::cout << jobs.size() << " jobs: " << absl::Now() - start << std::endl;
  ASSERT_EQ(results.size(), jobs.size());
  size_t failed = 0;
  size_t different = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    failed += results[i].status.ok() ? 0 : 1;
    different += Bits(results[i]) == Bits(results[i % kStarts]) ? 0 : 1;
  }
  EXPECT_EQ(failed, 0u) << results.back().status;
  EXPECT_EQ(different, 0u);
}

TEST_F(CudaLimitsTest, AMillionPosesAreScoredInOneCall) {
  ScoreRequest request;
  request.map = SceneMapPair().cuda;
  request.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 64));
  request.stage = AutowareProfile().stages[0];
  constexpr size_t kPoses = 1'000'000;
  for (size_t i = 0; i < kPoses; ++i) {
    const double share = static_cast<double>(i % 1000) / 1000.0;
    request.map_T_base.push_back(Displaced(ScenePose(), {share, -share, 0.0}, 0.1 * share));
  }
  const auto result = CudaEngine().Score(request);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->poses.size(), kPoses);
  size_t different = 0;
  for (size_t i = 0; i < kPoses; ++i) {
    different += result->poses[i].score == result->poses[i % 1000].score ? 0 : 1;
  }
  EXPECT_EQ(different, 0u);
}

// An engine that may hold little.
class CudaMemoryLimitTest : public CudaEngineTest {
 protected:
  static std::unique_ptr<Engine> LimitedEngine(size_t bytes) {
    CudaEngineOptions options;
    options.memory_limit_bytes = bytes;
    auto engine = MakeCudaEngine(options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }

  // It builds and aligns as an engine without a limit does, bit by bit.
  static void ExpectWorking(Engine& engine, const std::string& after) {
    SCOPED_TRACE("after " + after);
    ASSERT_TRUE(engine.Health().ok()) << engine.Health();
    const auto map = LoadMap(engine, {SceneMap()}, AllStatistics());
    ASSERT_NE(map, nullptr);
    AlignJob job = CudaSceneJob(PreciseProfile());
    const std::string expected = Bits(AlignOne(CudaEngine(), job));
    job.map = map;
    const AlignResult result = AlignOne(engine, job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_TRUE(Bits(result) == expected);
  }

  // Tries, prints what came of it, and allows for nothing but an answer or RESOURCE_EXHAUSTED.
  static void ExpectAnsweredOrExhausted(const absl::Status& status, const std::string& what) {
    std::cout << what << ": " << status << std::endl;
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kResourceExhausted)
        << what << ": " << status;
    if (!status.ok()) {
      EXPECT_FALSE(status.message().empty()) << what;
    }
  }
};

TEST_F(CudaMemoryLimitTest, ATileThatDoesNotFitIsRefused) {
  const auto engine = LimitedEngine(256 * kMebibyte);
  ASSERT_NE(engine, nullptr);
  EXPECT_LE(engine->Info().memory_bytes_free, 256 * kMebibyte);
  ExpectWorking(*engine, "the start");
  // 480 MB of coordinates alone.
  const PointCloud large = Repeated(SceneMap(), 40'000'000);
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = engine->BuildTile(large, AllStatistics()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ExpectWorking(*engine, "a tile too large");
  }
}

TEST_F(CudaMemoryLimitTest, MapsThatFillTheMemoryAreRefusedUntilOneGoes) {
  const auto engine = LimitedEngine(192 * kMebibyte);
  ASSERT_NE(engine, nullptr);
  const PointCloud cloud = SceneMap();
  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  std::vector<std::shared_ptr<const ResidentMap>> maps;
  absl::Status status;
  for (int i = 0; i < 20'000 && status.ok(); ++i) {
    auto tile = engine->BuildTile(cloud, AllStatistics());
    status = tile.status();
    if (!tile.ok()) break;
    tiles.push_back(*tile);
    auto map = engine->Compose({*tile}, AllStatistics(), nullptr);
    status = map.status();
    if (map.ok()) maps.push_back(*std::move(map));
  }
  std::cout << maps.size() << " maps, then " << status << std::endl;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  ASSERT_GT(maps.size(), 1u);
  EXPECT_TRUE(engine->Health().ok());
  // What was built before is still there and whole.
  AlignJob job = CudaSceneJob(PreciseProfile());
  const std::string expected = Bits(AlignOne(CudaEngine(), job));
  job.map = maps[0];
  maps.resize(1);
  tiles.resize(1);
  const AlignResult result = AlignOne(*engine, job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_TRUE(Bits(result) == expected);
  ExpectWorking(*engine, "maps that filled the memory");
}

TEST_F(CudaMemoryLimitTest, ABatchThatDoesNotFitIsAnsweredOrRefused) {
  const auto engine = LimitedEngine(192 * kMebibyte);
  ASSERT_NE(engine, nullptr);
  const auto map = LoadMap(*engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  ASSERT_NE(map, nullptr);
  const PointCloud scan = SceneScan(ScenePose(), 50'000);
  std::vector<AlignJob> jobs(64, CudaSceneJob(AutowareProfile()));
  for (AlignJob& job : jobs) {
    // 768 MB of coordinates.
    job.scan = std::make_shared<const PointCloud>(Repeated(scan, 1'000'000));
    job.map = map;
    job.profile.stages[0].max_iterations = 2;
    job.with_point_scores = true;
  }
  const std::vector<AlignResult> results = engine->Align(jobs);
  ASSERT_EQ(results.size(), jobs.size());
  size_t answered = 0;
  for (const AlignResult& result : results) {
    answered += result.status.ok() ? 1 : 0;
    if (!result.status.ok()) {
      EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted) << result.status;
    }
  }
  std::cout << answered << " of " << jobs.size() << " answered, the last: " << results.back().status
            << std::endl;
  ExpectWorking(*engine, "a batch too large");
  // One of them alone fits.
  const AlignResult alone = AlignOne(*engine, jobs[0]);
  EXPECT_TRUE(alone.status.ok()) << alone.status;
}

TEST_F(CudaMemoryLimitTest, AScanThatDoesNotFitIsRefused) {
  const auto engine = LimitedEngine(192 * kMebibyte);
  ASSERT_NE(engine, nullptr);
  AlignJob job = CudaSceneJob(AutowareProfile());
  job.map = LoadMap(*engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  ASSERT_NE(job.map, nullptr);
  job.scan =
      std::make_shared<const PointCloud>(Repeated(SceneScan(ScenePose(), 50'000), 30'000'000));
  const absl::Status status = AlignOne(*engine, job).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  ScoreRequest request;
  request.map = job.map;
  request.scan = job.scan;
  request.stage = AutowareProfile().stages[0];
  request.map_T_base = {ScenePose()};
  const absl::Status score = engine->Score(request).status();
  EXPECT_EQ(score.code(), absl::StatusCode::kResourceExhausted) << score;
  ExpectWorking(*engine, "a scan too large");
}

// 1.2 GB of point scores through a device memory of 192 MiB: in pieces, or not at all.
TEST_F(CudaMemoryLimitTest, MorePosesThanFitAreScoredInPiecesOrRefused) {
  const auto engine = LimitedEngine(192 * kMebibyte);
  ASSERT_NE(engine, nullptr);
  ScoreRequest request;
  request.map = LoadMap(*engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  ASSERT_NE(request.map, nullptr);
  request.scan = CudaSceneJob(AutowareProfile()).scan;
  request.stage = AutowareProfile().stages[0];
  request.map_T_base.assign(200'000, ScenePose());
  for (const bool point_scores : {false, true}) {
    request.with_point_scores = point_scores;
    const auto result = engine->Score(request);
    ExpectAnsweredOrExhausted(result.status(), point_scores ? "with point scores" : "without");
    if (result.ok()) {
      ASSERT_EQ(result->poses.size(), request.map_T_base.size());
      EXPECT_EQ(result->poses.front().score, result->poses.back().score);
    }
  }
  ExpectWorking(*engine, "many poses");
}

TEST_F(CudaMemoryLimitTest, NextToNoMemoryIsAStatusNotACrash) {
  for (const size_t bytes : {size_t{1}, size_t{65536}, kMebibyte, 4 * kMebibyte, 16 * kMebibyte}) {
    SCOPED_TRACE(bytes);
    CudaEngineOptions options;
    options.memory_limit_bytes = bytes;
    const auto engine = MakeCudaEngine(options);
    const std::string what = std::to_string(bytes) + " bytes: ";
    ExpectAnsweredOrExhausted(engine.status(), what + "engine");
    if (!engine.ok()) continue;
    const auto tile = (*engine)->BuildTile(SceneMap(), AllStatistics());
    ExpectAnsweredOrExhausted(tile.status(), what + "tile");
    if (!tile.ok()) continue;
    const auto map = (*engine)->Compose({*tile}, AllStatistics(), nullptr);
    ExpectAnsweredOrExhausted(map.status(), what + "map");
    if (!map.ok()) continue;
    AlignJob job = CudaSceneJob(PreciseProfile());
    job.map = *map;
    ExpectAnsweredOrExhausted(AlignOne(**engine, job).status, what + "alignment");
  }
}

TEST_F(CudaMemoryLimitTest, ADeviceThatIsNotThereIsNamed) {
  for (const int device : {-1, 1000}) {
    CudaEngineOptions options;
    options.device = device;
    const auto engine = MakeCudaEngine(options);
    EXPECT_EQ(engine.status().code(), absl::StatusCode::kNotFound) << engine.status();
    EXPECT_NE(std::string(engine.status().message()).find(std::to_string(device)),
              std::string::npos)
        << engine.status();
  }
}

}  // namespace
}  // namespace voxloc
