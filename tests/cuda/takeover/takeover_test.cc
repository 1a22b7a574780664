// SPDX-License-Identifier: Apache-2.0
//
// A real GPU whose context ends while a vehicle drives. In a program of its own, since no context
// of the process works afterwards.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/engine/cpu/cpu_engine.h"
#include "cuda/cuda_engine.h"
#include "tests/cuda/engine/fault_kernel.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/cuda_device.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

Eigen::Vector3d PositionOf(const v1::AlignmentResult& result) {
  const v1::Vector3& position = result.map_t_base().pose().position();
  return {position.x(), position.y(), position.z()};
}

TEST(CudaTakeoverTest, TheCpuEngineGoesOnWhereTheGpuWas) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  auto gpu = MakeCudaEngine();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EngineChoice choice;
  choice.engine = *std::move(gpu);
  choice.devices = {0};
  choice.standby = MakeCpuEngine({});
  TestServer server({}, std::move(choice));
  server.LoadTown();
  TestSession session(server);
  session.Open();
  session.Send(GoodScan(1));
  const v1::AlignmentResult before = session.ReadResult();
  ASSERT_TRUE(before.accepted());
  EXPECT_EQ(before.engine(), "cuda");
  ASSERT_TRUE(Search(server, WholeMapRequest()).status.ok());

  ASSERT_TRUE(EndCudaContext());
  v1::AlignmentResult after;
  uint64_t sequence = 1;
  EXPECT_TRUE(Eventually([&] {
    session.Send(GoodScan(++sequence));
    after = session.ReadResult();
    EXPECT_EQ(after.sequence(), sequence);
    return after.accepted();
  }));
  EXPECT_EQ(after.engine(), "cpu");
  // What both engines may differ by (docs/cli.md).
  EXPECT_LT((PositionOf(after) - PositionOf(before)).norm(), 1e-3);
  EXPECT_TRUE(Eventually([&] { return Search(server, WholeMapRequest()).status.ok(); }));
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
}

}  // namespace
}  // namespace voxloc::server
