// SPDX-License-Identifier: Apache-2.0
//
// An error that ends the context: the engine says so from then on, and nothing else breaks. In a
// program of its own, since no context of the process works afterwards.

#include <gmock/gmock.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "cuda/cuda_engine.h"
#include "tests/cuda/engine/fault_kernel.h"
#include "tests/support/cuda_device.h"
#include "tests/support/engine_scene.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

TEST(CudaFaultTest, AnEngineWhoseContextHasEndedAnswersUnavailableForGood) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  auto made = MakeCudaEngine();
  ASSERT_TRUE(made.ok()) << made.status();
  const std::unique_ptr<Engine> engine = *std::move(made);
  AlignJob job = SceneJob(PreciseProfile());
  job.map = LoadMap(*engine, {SceneMap()}, AllStatistics());
  ASSERT_NE(job.map, nullptr);
  ASSERT_TRUE(AlignOne(*engine, job).status.ok());
  ASSERT_TRUE(engine->Health().ok());

  ASSERT_TRUE(EndCudaContext());

  for (int i = 0; i < 3; ++i) {
    const AlignResult result = AlignOne(*engine, job);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable) << result.status;
    EXPECT_EQ(engine->Health().code(), absl::StatusCode::kUnavailable) << engine->Health();
  }
  EXPECT_THAT(std::string(engine->Health().message()), HasSubstr("out of service"));
  const std::vector<AlignResult> batch = engine->Align(std::vector<AlignJob>(300, job));
  for (const AlignResult& result : batch) {
    ASSERT_EQ(result.status.code(), absl::StatusCode::kUnavailable) << result.status;
  }
  ScoreRequest request;
  request.map = job.map;
  request.scan = job.scan;
  request.map_T_base = {job.map_T_base_guess};
  request.stage = job.profile.stages.front();
  EXPECT_EQ(engine->Score(request).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(engine->BuildTile(SceneMap(), AllStatistics()).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(engine->Info().memory_bytes_free, 0u);

  // Raw scans are still filtered, and the CPU engine goes on, in the same process.
  PointCloud raw = SceneMap();
  FilterOptions options;
  options.voxel_leaf_m = 1.0;
  EXPECT_TRUE(engine->Filter(raw, options, WorkClass::kTracking).ok());
  const std::unique_ptr<Engine> cpu = MakeCpuEngine();
  job.map = LoadMap(*cpu, {SceneMap()}, AllStatistics());
  ASSERT_NE(job.map, nullptr);
  EXPECT_TRUE(AlignOne(*cpu, job).status.ok());
}

}  // namespace
}  // namespace voxloc
