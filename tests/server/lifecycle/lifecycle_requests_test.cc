// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/lifecycle_requests.h"

#include <gtest/gtest.h>

namespace voxloc::server {
namespace {

TEST(EndRequestsTest, OnlyASecondSignalDoesNotWait) {
  LifecycleRequests requests;
  EXPECT_FALSE(requests.ending());
  EXPECT_TRUE(requests.RequestShutdown());
  EXPECT_TRUE(requests.ending());
  requests.RequestRestart();  // the engine fails during the drain
  EXPECT_FALSE(requests.for_restart());
  EXPECT_FALSE(requests.RequestShutdown());
}

TEST(EndRequestsTest, ASignalAfterTheServersOwnRequestIsTheFirst) {
  LifecycleRequests requests;
  requests.RequestRestart();
  requests.RequestRestart();
  EXPECT_TRUE(requests.ending());
  EXPECT_TRUE(requests.for_restart());
  EXPECT_TRUE(requests.RequestShutdown());
  EXPECT_FALSE(requests.for_restart());
  EXPECT_FALSE(requests.RequestShutdown());
}

TEST(EndRequestsTest, ReloadsBeforeTheEnd) {
  LifecycleRequests requests;
  requests.Reload();
  requests.RequestRestart();
  EXPECT_TRUE(requests.AwaitReload());
  EXPECT_FALSE(requests.AwaitReload());
}

}  // namespace
}  // namespace voxloc::server
