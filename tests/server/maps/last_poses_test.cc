// SPDX-License-Identifier: Apache-2.0

#include "server/maps/last_poses.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

LastPose PoseOf(const std::string& vehicle, int64_t stamp_unix_ns,
                const std::string& map = "town") {
  LastPose pose;
  pose.vehicle = vehicle;
  pose.map = map;
  pose.revision = 3;
  pose.stamp_unix_ns = stamp_unix_ns;
  pose.map_T_base.translation = {static_cast<double>(stamp_unix_ns), 2.0, 3.0};
  return pose;
}

// A store that has this map.
std::unique_ptr<MapStore> StoreWith(const std::string& map) {
  auto store = MakeMemoryMapStore({});
  EXPECT_TRUE(store.ok());
  RevisionCommit commit;
  commit.map = map;
  EXPECT_TRUE((*store)->Commit(commit).ok());
  return *std::move(store);
}

TEST(LastPoses, TheLastOneOfAVehicleIsFoundOnItsMap) {
  LastPoses poses(10);
  poses.Record(PoseOf("bus", 1));
  poses.Record(PoseOf("bus", 2));
  poses.Record(PoseOf("", 3));
  EXPECT_EQ(poses.Find("bus", "town")->stamp_unix_ns, 2);
  EXPECT_FALSE(poses.Find("bus", "port").has_value());
  EXPECT_FALSE(poses.Find("van", "town").has_value());
  EXPECT_FALSE(poses.Find("", "town").has_value());
}

TEST(LastPoses, OverTheLimitTheOldestAreForgotten) {
  LastPoses poses(100);
  for (int i = 0; i <= 100; ++i) poses.Record(PoseOf(absl::StrCat("v", i), i));
  EXPECT_FALSE(poses.Find("v0", "town").has_value());
  EXPECT_FALSE(poses.Find("v10", "town").has_value());
  EXPECT_TRUE(poses.Find("v11", "town").has_value());
  EXPECT_TRUE(poses.Find("v100", "town").has_value());
  const auto store = StoreWith("town");
  ASSERT_TRUE(poses.Save(*store).ok());
  EXPECT_EQ(store->ListLastPoses("town")->size(), 90u);
}

TEST(LastPoses, ComeBackFromTheStore) {
  const auto store = StoreWith("town");
  LastPoses before(10);
  before.Record(PoseOf("bus", 7));
  ASSERT_TRUE(before.Save(*store).ok());
  ASSERT_TRUE(before.Save(*store).ok());  // nothing is new
  LastPoses after(10);
  ASSERT_TRUE(after.Load(*store).ok());
  const auto found = after.Find("bus", "town");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->revision, 3u);
  EXPECT_EQ(found->map_T_base.translation.x(), 7.0);
}

}  // namespace
}  // namespace voxloc::server
