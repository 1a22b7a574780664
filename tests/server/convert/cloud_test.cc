// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert/scan.h"
#include "tests/server/convert/not_finite.h"
#include "tests/server/small_town.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ConvertCloud, GoesThereAndBack) {
  PointCloud cloud;
  cloud.origin = {4e6, 4e5, 100.0};
  cloud.PushBack(1.0F, -2.0F, 3.0F);
  cloud.PushBack(0.25F, 0.5F, 0.75F);
  auto decoded = DecodeTilePoints(CloudOf(cloud), 1000);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->cloud.origin, cloud.origin);
  EXPECT_EQ(decoded->cloud.x, cloud.x);
  EXPECT_EQ(decoded->cloud.y, cloud.y);
  EXPECT_EQ(decoded->cloud.z, cloud.z);
}

TEST(ConvertCloud, ReadsEveryLayoutAndStride) {
  const float with_intensity[] = {1.0F, 2.0F, 3.0F, 9.0F, 4.0F, 5.0F, 6.0F, 9.0F};
  v1::Cloud cloud;
  cloud.set_data(std::string(reinterpret_cast<const char*>(with_intensity), 32));
  cloud.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZI);
  EXPECT_EQ(DecodeScan(cloud).cloud.x, (std::vector<float>{1.0F, 4.0F}));
  cloud.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  cloud.set_stride(16);
  EXPECT_EQ(DecodeScan(cloud).cloud.z, (std::vector<float>{3.0F, 6.0F}));
  const int16_t units[] = {100, -200, 300, 32767, -32768, 0};
  cloud.set_data(std::string(reinterpret_cast<const char*>(units), 12));
  cloud.set_layout(v1::CLOUD_LAYOUT_INT16_XYZ);
  cloud.set_stride(0);
  cloud.set_scale_m(0.01);
  ASSERT_TRUE(CheckScanCloud(cloud, 10).ok());
  const PointCloud decoded = DecodeScan(cloud).cloud;
  EXPECT_FLOAT_EQ(decoded.y[0], -2.0F);
  EXPECT_FLOAT_EQ(decoded.x[1], 327.67F);
}

TEST(ConvertCloud, DropsAndCountsWhatIsNotFiniteOrOutOfReach) {
  const auto nan = static_cast<float>(kNan);
  const auto infinity = static_cast<float>(kInfinity);
  const DecodedCloud decoded =
      DecodeScan(CloudOf({1.0F, 2.0F, 3.0F, nan, 0.0F, 0.0F, 0.0F, infinity, 0.0F, 3e38F, 0.0F,
                          0.0F, 4.0F, 5.0F, 6.0F}));
  EXPECT_EQ(decoded.received, 5);
  EXPECT_EQ(decoded.not_finite, 2);
  EXPECT_EQ(decoded.out_of_reach, 1);
  EXPECT_EQ(decoded.cloud.x, (std::vector<float>{1.0F, 4.0F}));
}

TEST(ConvertCloud, RefusesMalformedCloudsByName) {
  const v1::Cloud good = CloudOf({1.0F, 2.0F, 3.0F});
  const auto message = [](const v1::Cloud& cloud) {
    return std::string(CheckScanCloud(cloud, 10).status().message());
  };
  EXPECT_EQ(message(good), "");
  v1::Cloud bad = good;
  bad.mutable_data()->push_back('x');
  EXPECT_THAT(message(bad), HasSubstr("not a multiple of the stride 12"));
  bad = good;
  bad.set_stride(11);
  EXPECT_THAT(message(bad), AllOf(HasSubstr("cloud.stride"), HasSubstr("(got 11)")));
  bad.set_stride(4'000'000'000U);
  EXPECT_THAT(message(bad), AllOf(HasSubstr("cloud.stride"), HasSubstr("(got 4000000000)")));
  bad = good;
  bad.clear_layout();
  EXPECT_THAT(message(bad), AllOf(HasSubstr("cloud.layout"), HasSubstr("(got 0)")));
  bad.set_layout(static_cast<v1::CloudLayout>(99));
  EXPECT_THAT(message(bad), AllOf(HasSubstr("cloud.layout"), HasSubstr("(got 99)")));
  for (const double scale : {0.0, -1.0, kNan, kInfinity}) {
    bad = good;
    bad.set_layout(v1::CLOUD_LAYOUT_INT16_XYZ);
    bad.set_stride(6);
    bad.set_scale_m(scale);
    EXPECT_THAT(message(bad), HasSubstr("cloud.scale_m")) << scale;
  }
  for (const double origin : {kNan, kInfinity, 1e9}) {
    bad = good;
    bad.mutable_origin()->set_z(origin);
    EXPECT_THAT(message(bad), HasSubstr("cloud.origin")) << origin;
  }
  EXPECT_THAT(std::string(CheckScanCloud(good, 0).status().message()), HasSubstr("got 1"));
  EXPECT_EQ(DecodeTilePoints(good, 11).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace voxloc::server
