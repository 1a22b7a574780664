// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/host/process_limits.h"

namespace voxloc {
namespace {

TEST(OpenFilesTest, TheLimitIsRaisedAsFarAsTheProcessMay) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lower = {before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_EQ(OpenFilesLimit(), before.rlim_max / 2);
  EXPECT_EQ(RaiseOpenFilesLimit(), before.rlim_max);
  EXPECT_EQ(OpenFilesLimit(), before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace voxloc
