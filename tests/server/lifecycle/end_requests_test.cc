// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/end_requests.h"

#include <gtest/gtest.h>

namespace voxloc::server {
namespace {

TEST(EndRequestsTest, OnlyASecondSignalDoesNotWait) {
  EndRequests requests;
  EXPECT_FALSE(requests.ending());
  EXPECT_TRUE(requests.EndBySignal());
  EXPECT_TRUE(requests.ending());
  requests.EndForRestart();  // the engine fails during the drain
  EXPECT_FALSE(requests.for_restart());
  EXPECT_FALSE(requests.EndBySignal());
}

TEST(EndRequestsTest, ASignalAfterTheServersOwnRequestIsTheFirst) {
  EndRequests requests;
  requests.EndForRestart();
  requests.EndForRestart();
  EXPECT_TRUE(requests.ending());
  EXPECT_TRUE(requests.for_restart());
  EXPECT_TRUE(requests.EndBySignal());
  EXPECT_FALSE(requests.for_restart());
  EXPECT_FALSE(requests.EndBySignal());
}

TEST(EndRequestsTest, ReloadsBeforeTheEnd) {
  EndRequests requests;
  requests.Reload();
  requests.EndForRestart();
  EXPECT_TRUE(requests.AwaitReload());
  EXPECT_FALSE(requests.AwaitReload());
}

}  // namespace
}  // namespace voxloc::server
