// SPDX-License-Identifier: Apache-2.0
//
// What belongs to one engine is refused by the other, and is of no use to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

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
    job.want_point_scores = true;
    bits.push_back(Bits(AlignOne(CudaEngine(), job)));
  }
  EXPECT_TRUE(bits[0] == bits[1]);
}

}  // namespace
}  // namespace voxloc
