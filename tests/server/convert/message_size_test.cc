// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/result.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::AlignmentResult LargeResult() {
  v1::AlignmentResult result;
  result.set_sequence(7);
  result.mutable_aligned_cloud()->set_data(std::string(30'000, 'x'));
  result.mutable_no_ground()->mutable_cloud()->set_data(std::string(20'000, 'x'));
  result.mutable_no_ground()->set_points(5);
  result.mutable_point_scores()->mutable_best_score()->Resize(2'500, 1.0F);
  for (int i = 0; i < 10; ++i) result.mutable_trace()->add_iterations()->set_slope(1.0);
  return result;
}

TEST(MessageSize, LeavesOutNothingThatFits) {
  v1::AlignmentResult result = LargeResult();
  TrimToMessageSize(100'000, result);
  EXPECT_THAT(result.omitted(), IsEmpty());
  EXPECT_TRUE(result.has_aligned_cloud());
}

TEST(MessageSize, LeavesOutTheCloudsFirstAndNoMoreThanItMust) {
  v1::AlignmentResult result = LargeResult();
  TrimToMessageSize(40'000, result);
  EXPECT_THAT(result.omitted(), ElementsAre("aligned_cloud"));
  EXPECT_LE(result.ByteSizeLong(), 40'000U);
  TrimToMessageSize(15'000, result);
  EXPECT_THAT(result.omitted(), ElementsAre("aligned_cloud", "no_ground.cloud"));
  EXPECT_EQ(result.no_ground().points(), 5U);
  EXPECT_TRUE(result.has_point_scores());
  TrimToMessageSize(300, result);
  EXPECT_THAT(result.omitted(), ElementsAre("aligned_cloud", "no_ground.cloud", "point_scores"));
  EXPECT_TRUE(result.has_trace());
  EXPECT_EQ(result.sequence(), 7U);
}

}  // namespace
}  // namespace voxloc::server
