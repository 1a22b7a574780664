// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/gicp_peer.h"

#include <gtest/gtest.h>

#include "core/geometry/euler.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc::bench {
namespace {

// Far from the map's zero, where float32 steps are 6 cm.
const Eigen::Vector3d kSceneZero(700'000.0, -400'000.0, 30.0);

Pose TruePose() {
  const Eigen::AngleAxisd heading(0.7, Eigen::Vector3d::UnitZ());
  return {kSceneZero + Eigen::Vector3d(3.0, -2.0, 1.5), Eigen::Quaterniond(heading)};
}

PointCloud Scan() {
  Pose scene_T_base = TruePose();
  scene_T_base.translation -= kSceneZero;
  return SceneScan(scene_T_base, 1500);
}

TEST(GicpPeerTest, FindsTheTruePose) {
  // The map comes in tiles.
  const auto gicp = MakeGicpPeer(
      CutIntoTiles(SceneMap({}, kSceneZero), 2, 2, {-31.0, -31.0}, {31.0, 31.0}), GicpOptions());
  ASSERT_TRUE(gicp.ok()) << gicp.status();
  const Pose start = Displaced(TruePose(), {0.4, -0.3, 0.1}, 2.0 / kDegreesPerRadian);
  const auto result = (*gicp)->Align(Scan(), start);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(TranslationDistance(result->map_T_base, TruePose()), 0.02);
  EXPECT_LT(RotationDistance(result->map_T_base, TruePose()) * kDegreesPerRadian, 0.1);
  EXPECT_GT(result->iterations, 1);
  // No state stays behind.
  const auto again = (*gicp)->Align(Scan(), start);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->map_T_base.translation, result->map_T_base.translation);
}

TEST(GicpPeerTest, StopsAtTheLimitOfIterations) {
  GicpOptions options;
  options.max_iterations = 1;
  const auto gicp = MakeGicpPeer({SceneMap()}, options);
  ASSERT_TRUE(gicp.ok()) << gicp.status();
  Pose map_T_base = TruePose();
  map_T_base.translation -= kSceneZero;
  const auto result = (*gicp)->Align(Scan(), Displaced(map_T_base, {0.4, -0.3, 0.1}, 0.0));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->iterations, 1);
}

TEST(GicpPeerTest, StaysWhereNothingIsNear) {
  const auto gicp = MakeGicpPeer({SceneMap()}, GicpOptions());
  ASSERT_TRUE(gicp.ok()) << gicp.status();
  const Pose start = {{500.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  const auto result = (*gicp)->Align(Scan(), start);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(TranslationDistance(result->map_T_base, start), 1e-6);
}

TEST(GicpPeerTest, RefusesCloudsWithoutNeighbours) {
  PointCloud few;
  for (int i = 0; i < 19; ++i) few.PushBack(static_cast<float>(i), 0.0F, 0.0F);
  EXPECT_EQ(MakeGicpPeer({}, GicpOptions()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeGicpPeer({few}, GicpOptions()).status().code(), absl::StatusCode::kInvalidArgument);
  const auto gicp = MakeGicpPeer({SceneMap()}, GicpOptions());
  ASSERT_TRUE(gicp.ok()) << gicp.status();
  EXPECT_EQ((*gicp)->Align(few, Pose()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc::bench
