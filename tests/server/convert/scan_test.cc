// SPDX-License-Identifier: Apache-2.0

#include "server/convert/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/small_town.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

TEST(ConvertScan, TheLimitOfPointsIsThatOfAllClouds) {
  v1::Scan scan;
  for (int i = 0; i < 2; ++i)
    *scan.add_clouds()->mutable_cloud() = CloudOf({0.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1.0F});
  EXPECT_EQ(CheckScanClouds(scan, 4).value(), 4U);
  const absl::Status many = CheckScanClouds(scan, 3).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(many.message(), HasSubstr("at most 3 points (got 4)"));
}

}  // namespace
}  // namespace voxloc::server
