// SPDX-License-Identifier: Apache-2.0
//
// What the engine holds of the device's memory does not grow with what it has done.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/cuda_engine.h"
#include "tests/cuda/engine/engine_pair.h"

namespace voxloc {
namespace {

// The driver hands memory out in pieces of this size.
constexpr size_t kDriverPiece = size_t{2} << 20;
// What the engine may keep of memory that it has no use for at the moment.
constexpr size_t kKept = size_t{128} << 20;
// With a limit the engine counts every byte that it holds.
constexpr size_t kLimit = size_t{4} << 30;

struct Memory {
  size_t engine_free = 0;  // under the limit: exact
  size_t device_free = 0;  // by the driver, which keeps what it may use again
};

class CudaMemoryTest : public CudaEngineTest {
 protected:
  void SetUp() override {
    CudaEngineTest::SetUp();
    if (IsSkipped()) return;
    CudaEngineOptions options;
    options.memory_limit_bytes = kLimit;
    auto made = MakeCudaEngine(options);
    ASSERT_TRUE(made.ok()) << made.status();
    engine_ = *std::move(made);
    clouds_ = CutIntoTiles(SceneMap(), 4, 4, {-31.0, -31.0}, {15.5, 15.5});
    other_ = clouds_[5];
    for (float& z : other_.z) z += 0.2F;
    for (const PointCloud& cloud : clouds_) {
      auto tile = engine_->BuildTile(cloud, AllStatistics());
      ASSERT_TRUE(tile.ok()) << tile.status();
      tiles_.push_back(*std::move(tile));
    }
    auto map = engine_->Compose(tiles_, AllStatistics(), nullptr);
    ASSERT_TRUE(map.ok()) << map.status();
    map_ = *std::move(map);
  }

  Memory Now() const {
    Memory memory;
    memory.engine_free = engine_->Info().memory_bytes_free;
    size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&memory.device_free, &total), cudaSuccess);
    return memory;
  }

  // A tile goes and another comes, every second time the first again.
  void Swap(int round) {
    auto tile = engine_->BuildTile(round % 2 == 0 ? other_ : clouds_[5], AllStatistics());
    ASSERT_TRUE(tile.ok()) << tile.status();
    tiles_[5] = *std::move(tile);
    auto map = engine_->Compose(tiles_, AllStatistics(), map_.get());
    ASSERT_TRUE(map.ok()) << map.status();
    map_ = *std::move(map);
  }

  // Jobs of several sizes, one by one and in batches, `count` in all.
  void Align(size_t count) {
    static const std::vector<size_t> kBatches = {1, 1, 8, 30, 60};
    size_t done = 0;
    for (size_t i = 0; done < count; ++i) {
      const size_t size = std::min(kBatches[i % kBatches.size()], count - done);
      std::vector<AlignJob> jobs;
      for (size_t j = 0; j < size; ++j) {
        jobs.push_back(SceneJob((i + j) % 2 == 0 ? AutowareProfile() : PreciseProfile()));
        jobs[j].map = map_;
        jobs[j].with_trace = j % 3 == 0;
        jobs[j].with_point_scores = j % 5 == 0;
      }
      for (const AlignResult& result : engine_->Align(jobs)) {
        ASSERT_TRUE(result.status.ok()) << result.status;
      }
      done += size;
    }
  }

  void ExpectSame(const Memory& early, const Memory& late) const {
    std::cout << "held by the engine: " << kLimit - early.engine_free << " bytes early, "
              << kLimit - late.engine_free << " late; free on the device: " << early.device_free
              << " early, " << late.device_free << " late" << std::endl;
    EXPECT_LT(early.engine_free, kLimit);
    EXPECT_GE(late.engine_free, early.engine_free);
    EXPECT_GE(late.device_free + kDriverPiece, early.device_free);
  }

  std::unique_ptr<Engine> engine_;
  std::vector<PointCloud> clouds_;
  PointCloud other_;
  std::vector<std::shared_ptr<const ResidentTile>> tiles_;
  std::shared_ptr<const ResidentMap> map_;
};

TEST_F(CudaMemoryTest, TenThousandAlignmentsHoldNoMoreThanAHundred) {
  Align(100);
  const Memory early = Now();
  Align(9'900);
  ExpectSame(early, Now());
}

TEST_F(CudaMemoryTest, AThousandTileSwapsHoldNoMoreThanAHundred) {
  for (int i = 0; i < 100; ++i) Swap(i);
  const Memory early = Now();
  for (int i = 100; i < 1000; ++i) Swap(i);
  ExpectSame(early, Now());
}

TEST_F(CudaMemoryTest, AlignmentsAmongTileSwapsHoldNoMore) {
  const auto round = [&](int i) {
    Swap(i);
    Align(10);
  };
  for (int i = 0; i < 100; ++i) round(i);
  const Memory early = Now();
  for (int i = 100; i < 400; ++i) round(i);
  ExpectSame(early, Now());
}

TEST_F(CudaMemoryTest, WhatAMapHeldIsFreeWhenItGoes) {
  Align(100);
  Swap(0);
  Swap(1);
  const Memory before = Now();
  {
    std::vector<std::shared_ptr<const ResidentMap>> maps;
    for (int i = 0; i < 60; ++i) maps.push_back(LoadMap(*engine_, clouds_, AllStatistics()));
    EXPECT_LT(Now().engine_free, before.engine_free);
  }
  Swap(0);
  Swap(1);
  const Memory after = Now();
  EXPECT_GE(after.engine_free, before.engine_free);
  EXPECT_GE(after.device_free + kKept, before.device_free);
}

TEST_F(CudaMemoryTest, CallersThatComeAndGoHoldNoMoreThanAWorkspaceEach) {
  constexpr size_t kCallers = 4;
  const size_t without = Now().engine_free;
  Align(100);
  const size_t one_workspace = without - Now().engine_free;
  ASSERT_GT(one_workspace, 0u);
  for (int i = 0; i < 40; ++i) {
    std::vector<std::thread> callers;
    for (size_t c = 0; c < kCallers; ++c) callers.emplace_back([&] { Align(100); });
    for (std::thread& caller : callers) caller.join();
  }
  const size_t held = without - Now().engine_free;
  std::cout << one_workspace << " bytes by one caller, " << held << " by " << kCallers << std::endl;
  // Memory grows by half at least, so that the order of the calls decides about that much.
  EXPECT_LE(held, kCallers * one_workspace * 3 / 2);
}

TEST_F(CudaMemoryTest, WhatOneHugeScanTookIsGivenBack) {
  Align(100);
  const Memory before = Now();
  AlignJob huge = SceneJob(AutowareProfile());
  huge.map = map_;
  PointCloud cloud;
  for (int copy = 0; copy < 2000; ++copy) {
    for (size_t i = 0; i < huge.scan->size(); ++i) {
      cloud.PushBack(huge.scan->x[i], huge.scan->y[i], huge.scan->z[i]);
    }
  }
  huge.scan = std::make_shared<const PointCloud>(std::move(cloud));
  huge.profile.stages[0].max_iterations = 1;
  huge.with_point_scores = true;
  ASSERT_TRUE(AlignOne(*engine_, huge).status.ok());
  EXPECT_LT(Now().engine_free + huge.scan->size() * sizeof(float), before.engine_free);
  // Calls enough to forget it: Align makes five of a hundred jobs.
  for (int i = 0; i < 150; ++i) Align(100);
  std::cout << "held before " << kLimit - before.engine_free << " bytes, after "
            << kLimit - Now().engine_free << std::endl;
  EXPECT_GE(Now().engine_free, before.engine_free);
}

TEST_F(CudaMemoryTest, WhatOneHugeScoringTookIsGivenBack) {
  ScoreRequest request;
  request.map = map_;
  request.scan = SceneJob(AutowareProfile()).scan;
  request.stage = AutowareProfile().stages[0];
  request.map_T_base.assign(100, ScenePose());
  const auto score = [&] { ASSERT_TRUE(engine_->Score(request).ok()); };
  score();
  const Memory before = Now();
  ScoreRequest huge = request;
  huge.map_T_base.assign(20'000, ScenePose());
  huge.with_point_scores = true;
  ASSERT_TRUE(engine_->Score(huge).ok());
  EXPECT_LT(Now().engine_free, before.engine_free);
  for (int i = 0; i < 600; ++i) score();
  EXPECT_GE(Now().engine_free, before.engine_free);
}

TEST_F(CudaMemoryTest, AnEngineThatGoesLeavesNothing) {
  // The driver's own share of a first engine stays.
  Align(100);
  const auto one_more = [&] {
    auto made = MakeCudaEngine();
    ASSERT_TRUE(made.ok()) << made.status();
    AlignJob job = SceneJob(PreciseProfile());
    job.map = LoadMap(**made, clouds_, AllStatistics());
    ASSERT_NE(job.map, nullptr);
    ASSERT_TRUE(AlignOne(**made, job).status.ok());
  };
  for (int i = 0; i < 3; ++i) one_more();
  const size_t early = Now().device_free;
  for (int i = 0; i < 20; ++i) one_more();
  const size_t late = Now().device_free;
  std::cout << "free on the device: " << early << " early, " << late << " late" << std::endl;
  EXPECT_GE(late + kDriverPiece, early);
}

}  // namespace
}  // namespace voxloc
