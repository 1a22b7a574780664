// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store_upkeep.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "absl/synchronization/notification.h"
#include "server/maps/store/sqlite_map_store.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

class StoreUpkeepTest : public ::testing::Test {
 protected:
  ~StoreUpkeepTest() override { mapping_.Stop(); }

  const Metrics metrics_;
  const std::unique_ptr<MapStore> store_ = MakeMemoryMapStore({}).value();
  LastPoses last_poses_{100};
  TileFits tile_fits_{100, metrics_.fit_tiles};
  WorkQueue mapping_{"mapping", 3, metrics_.mapping_queue};
  const std::shared_ptr<StoreUpkeep> upkeep_ =
      std::make_shared<StoreUpkeep>(*store_, last_poses_, tile_fits_, mapping_, metrics_);
};

// As while a database does not answer.
TEST_F(StoreUpkeepTest, LeavesAQueueThatStandsStillToOthers) {
  absl::Notification open;
  absl::Notification begun;
  ASSERT_TRUE(mapping_.Post([&] {
    begun.Notify();
    open.WaitForNotification();
  }));
  begun.WaitForNotification();
  TimeoutWatch::Clock::time_point now{};
  LastPose pose;
  pose.vehicle = "bus";
  pose.map = "town";
  last_poses_.Record(pose);
  for (int i = 0; i < 1000; ++i) now = upkeep_->Poll(now + std::chrono::hours(1));
  absl::Notification others;
  ASSERT_TRUE(mapping_.Post([&others] { others.Notify(); })) << "the queue is full of upkeep";
  open.Notify();
  others.WaitForNotification();
  // It has been done, and goes on.
  EXPECT_TRUE(store_->GetLastPose("bus").ok());
  pose.vehicle = "tram";
  last_poses_.Record(pose);
  EXPECT_TRUE(Eventually([&] {
    now = upkeep_->Poll(now + std::chrono::hours(1));
    return store_->GetLastPose("tram").ok();
  }));
}

}  // namespace
}  // namespace voxloc::server
