// SPDX-License-Identifier: Apache-2.0
//
// Clouds of ROS as the server reads them: each is encoded, decoded as the contract says, and
// compared with the numbers that were written into the message.

#include "clients/pointcloud2/cloud_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/geometry/euler.h"
#include "tests/clients/ros/cloud_messages.h"

namespace voxloc::ros {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kStampNs = 1'700'000'000'123'456'789;

struct Decoded {
  std::vector<Eigen::Vector3d> points;
  std::vector<double> time_s;
};

// As cloud.proto says it.
Decoded Decode(const v1::Cloud& cloud) {
  Decoded decoded;
  const bool units =
      cloud.layout() == v1::CLOUD_LAYOUT_INT16_XYZ || cloud.layout() == v1::CLOUD_LAYOUT_INT16_XYZT;
  uint32_t bytes = 12;
  int time_at = -1;
  switch (cloud.layout()) {
    case v1::CLOUD_LAYOUT_FLOAT32_XYZT:
      bytes = 16;
      time_at = 12;
      break;
    case v1::CLOUD_LAYOUT_FLOAT32_XYZIT:
      bytes = 20;
      time_at = 16;
      break;
    case v1::CLOUD_LAYOUT_INT16_XYZ:
      bytes = 6;
      break;
    case v1::CLOUD_LAYOUT_INT16_XYZT:
      bytes = 8;
      time_at = 6;
      break;
    default:
      break;
  }
  const uint32_t stride = cloud.stride() == 0 ? bytes : cloud.stride();
  EXPECT_GE(stride, bytes);
  EXPECT_EQ(cloud.data().size() % stride, 0u);
  for (size_t at = 0; at + stride <= cloud.data().size(); at += stride) {
    const char* point = cloud.data().data() + at;
    if (units) {
      int16_t xyz[3];
      std::memcpy(xyz, point, sizeof(xyz));
      decoded.points.emplace_back(xyz[0] * cloud.scale_m(), xyz[1] * cloud.scale_m(),
                                  xyz[2] * cloud.scale_m());
      int16_t time = 0;
      if (time_at >= 0) std::memcpy(&time, point + time_at, sizeof(time));
      if (time_at >= 0) decoded.time_s.push_back(time * cloud.time_scale_s());
    } else {
      float xyz[3];
      std::memcpy(xyz, point, sizeof(xyz));
      decoded.points.emplace_back(xyz[0], xyz[1], xyz[2]);
      float time = 0.0F;
      if (time_at >= 0) std::memcpy(&time, point + time_at, sizeof(time));
      if (time_at >= 0) decoded.time_s.push_back(static_cast<double>(time));
    }
  }
  return decoded;
}

EncodedCloud Encode(const TestCloud& cloud, const CloudEncodingOptions& options = {},
                    const std::optional<Pose>& base_T_sensor = std::nullopt) {
  const auto encoded = EncodeCloud(cloud.View(), base_T_sensor, options);
  EXPECT_TRUE(encoded.ok()) << encoded.status();
  return encoded.value_or(EncodedCloud());
}

std::string ErrorOf(const TestCloud& cloud, const CloudEncodingOptions& options = {}) {
  return std::string(EncodeCloud(cloud.View(), std::nullopt, options).status().message());
}

// Three points, x, y, z in the order of the arguments' offsets.
TestCloud ThreePoints(uint32_t step, uint32_t x, uint32_t y, uint32_t z, bool big_endian = false) {
  TestCloud cloud(3, step);
  cloud.big_endian = big_endian;
  cloud.fields = {{"z", z, PointField::kFloat32, 1},
                  {"x", x, PointField::kFloat32, 1},
                  {"y", y, PointField::kFloat32, 1}};
  for (int i = 0; i < 3; ++i) {
    const auto k = static_cast<float>(i);
    cloud.Put(static_cast<size_t>(i), x, 1.0F + k);
    cloud.Put(static_cast<size_t>(i), y, -20.25F - k);
    cloud.Put(static_cast<size_t>(i), z, 0.125F * k);
  }
  return cloud;
}

void ExpectThreePoints(const EncodedCloud& encoded, double tolerance = 0.0) {
  const Decoded decoded = Decode(encoded.cloud);
  ASSERT_EQ(decoded.points.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Eigen::Vector3d expected(1.0 + i, -20.25 - i, 0.125 * i);
    EXPECT_LE((decoded.points[static_cast<size_t>(i)] - expected).cwiseAbs().maxCoeff(), tolerance);
  }
}

TEST(CloudEncoding, TakesTheBytesAsTheyAreWhereTheServerCanReadThem) {
  const TestCloud cloud = ThreePoints(12, 0, 4, 8);
  const EncodedCloud encoded = Encode(cloud);
  EXPECT_TRUE(encoded.as_is);
  ASSERT_EQ(encoded.cloud.data().size(), cloud.data.size());
  EXPECT_EQ(std::memcmp(encoded.cloud.data().data(), cloud.data.data(), cloud.data.size()), 0);
  ExpectThreePoints(encoded);
}

TEST(CloudEncoding, PacksWideUnlessAskedForTheBytesAsTheyAre) {
  for (const uint32_t step : {16U, 32U}) {
    const TestCloud cloud = ThreePoints(step, 0, 4, 8);
    const EncodedCloud packed = Encode(cloud);
    EXPECT_FALSE(packed.as_is);
    EXPECT_EQ(packed.cloud.data().size(), 36u);
    ExpectThreePoints(packed);
    CloudEncodingOptions options;
    options.encoding = CloudEncoding::kAsIs;
    const EncodedCloud wide = Encode(cloud, options);
    EXPECT_TRUE(wide.as_is);
    EXPECT_EQ(wide.cloud.data().size(), 3 * step);
    ExpectThreePoints(wide);
  }
}

TEST(CloudEncoding, ReadsFieldsInAnyOrderStepAndEndianness) {
  ExpectThreePoints(Encode(ThreePoints(12, 8, 0, 4)));
  ExpectThreePoints(Encode(ThreePoints(23, 3, 11, 17)));
  ExpectThreePoints(Encode(ThreePoints(16, 4, 8, 12)));
  ExpectThreePoints(Encode(ThreePoints(16, 0, 4, 8, /*big_endian=*/true)));
}

TEST(CloudEncoding, ReadsDoubles) {
  TestCloud cloud(2, 24);
  cloud.fields = {{"x", 0, PointField::kFloat64, 1},
                  {"y", 8, PointField::kFloat64, 1},
                  {"z", 16, PointField::kFloat64, 1}};
  for (size_t i = 0; i < 2; ++i) {
    cloud.Put(i, 0, 1.5);
    cloud.Put(i, 8, -2.5);
    cloud.Put(i, 16, 3.25 + static_cast<double>(i));
  }
  const Decoded decoded = Decode(Encode(cloud).cloud);
  ASSERT_EQ(decoded.points.size(), 2u);
  EXPECT_EQ(decoded.points[1], Eigen::Vector3d(1.5, -2.5, 4.25));
}

TEST(CloudEncoding, ReadsOrganisedCloudsWithPaddedRows) {
  TestCloud cloud(0, 12);
  cloud.fields = XyzFields();
  cloud.height = 2;
  cloud.width = 2;
  cloud.row_step = 30;
  cloud.data.assign(60, 0xEE);
  for (size_t i = 0; i < 4; ++i) {
    cloud.Put(i, 0, static_cast<float>(i));
    cloud.Put(i, 4, 0.0F);
    cloud.Put(i, 8, 0.0F);
  }
  const EncodedCloud encoded = Encode(cloud);
  const Decoded decoded = Decode(encoded.cloud);
  ASSERT_EQ(decoded.points.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(decoded.points[i].x(), static_cast<double>(i));
  // Without padding the rows are one block.
  cloud.row_step = 24;
  cloud.data.assign(48, 0);
  EXPECT_TRUE(Encode(cloud).as_is);
}

TEST(CloudEncoding, Int16HalvesTheBytesAndRoundsToItsScale) {
  CloudEncodingOptions options;
  options.encoding = CloudEncoding::kInt16;
  options.int16_scale_m = 0.01;
  TestCloud cloud = ThreePoints(16, 0, 4, 8);
  const EncodedCloud encoded = Encode(cloud, options);
  EXPECT_EQ(encoded.cloud.data().size(), 18u);
  ExpectThreePoints(encoded, 0.005 + 1e-9);
  cloud.Put(1, 0, 327.9F);  // out of reach of 32767 cm
  cloud.Put(2, 4, kNan);
  const EncodedCloud far = Encode(cloud, options);
  EXPECT_EQ(far.sent, 1u);
  EXPECT_EQ(far.left_out, 2u);
}

TEST(CloudEncoding, CountsWhatIsNotFiniteAndLeavesItToTheServerUnlessTold) {
  TestCloud cloud = ThreePoints(16, 0, 4, 8);
  cloud.Put(1, 4, kNan);
  const EncodedCloud kept = Encode(cloud);
  EXPECT_EQ(kept.not_finite, 1u);
  EXPECT_EQ(kept.sent, 3u);
  CloudEncodingOptions options;
  options.preparation.drop_not_finite = true;
  const EncodedCloud dropped = Encode(cloud, options);
  EXPECT_EQ(dropped.sent, 2u);
  EXPECT_EQ(Decode(dropped.cloud).points[1].x(), 3.0);
}

TEST(CloudEncoding, LeavesOutWhatIsOutsideTheRangeOrTheBox) {
  TestCloud cloud(4, 12);
  cloud.fields = XyzFields();
  const float xs[] = {0.5F, 5.0F, 10.0F, 50.0F};
  for (size_t i = 0; i < 4; ++i) {
    cloud.Put(i, 0, xs[i]);
    cloud.Put(i, 4, 0.0F);
    cloud.Put(i, 8, 0.0F);
  }
  CloudEncodingOptions options;
  options.preparation.min_range_m = 1.0;
  options.preparation.max_range_m = 20.0;
  EXPECT_EQ(Encode(cloud, options).sent, 2u);
  // The box is in the base frame: the sensor sits 8 m ahead of its origin, looking backwards.
  options.preparation.crop_base =
      CloudPreparation::Box{Eigen::Vector3d(-3.0, -1.0, -1.0), Eigen::Vector3d(0.0, 1.0, 1.0)};
  const Pose base_T_sensor{{8.0, 0.0, 0.0}, RotationFromRosAngles(0.0, 0.0, M_PI)};
  const EncodedCloud cropped = Encode(cloud, options, base_T_sensor);
  ASSERT_EQ(cropped.sent, 1u);
  EXPECT_EQ(Decode(cropped.cloud).points[0].x(), 10.0);
}

TEST(CloudEncoding, MeasuresTheFarthestPointFromTheBase) {
  const TestCloud cloud = ThreePoints(16, 0, 4, 8);
  const Pose base_T_sensor{{3.0, -4.0, 2.0}, RotationFromRosAngles(0.3, -0.2, 2.1)};
  double expected = 0.0;
  for (int i = 0; i < 3; ++i) {
    const Eigen::Vector3d point(1.0 + i, -20.25 - i, 0.125 * i);
    expected = std::max(expected, (base_T_sensor * point).norm());
  }
  EXPECT_NEAR(Encode(cloud, {}, base_T_sensor).max_distance_m, expected, 1e-9);
  TestCloud nothing = ThreePoints(16, 0, 4, 8);
  for (size_t i = 0; i < 3; ++i) nothing.Put(i, 0, kNan);
  EXPECT_EQ(Encode(nothing).max_distance_m, 0.0);
}

// ---- times of points, as each driver writes them

TestCloud WithTimes(uint32_t step) {
  TestCloud cloud(2, step);
  cloud.fields = XyzFields();
  cloud.header.stamp_ns = kStampNs;
  for (size_t i = 0; i < 2; ++i) {
    for (uint32_t axis = 0; axis < 3; ++axis) cloud.Put(i, 4 * axis, 1.0F);
  }
  return cloud;
}

void ExpectTimes(const TestCloud& cloud, double first_s, double second_s, double tolerance_s) {
  CloudEncodingOptions options;
  options.time.any = true;
  const EncodedCloud encoded = Encode(cloud, options);
  EXPECT_TRUE(encoded.has_times);
  const Decoded decoded = Decode(encoded.cloud);
  ASSERT_EQ(decoded.time_s.size(), 2u);
  EXPECT_NEAR(decoded.time_s[0], first_s, tolerance_s);
  EXPECT_NEAR(decoded.time_s[1], second_s, tolerance_s);
  // Off by default: clouds of Autoware's pipeline are deskewed and still have the field.
  EXPECT_FALSE(Encode(cloud).has_times);
}

TEST(PointTimes, SecondsAsFloat) {
  for (const char* const name : {"time", "t"}) {
    for (const uint32_t offset : {12U, 16U, 18U}) {
      TestCloud cloud = WithTimes(22);
      cloud.fields.push_back({name, offset, PointField::kFloat32, 1});
      cloud.Put(0, offset, -0.05F);
      cloud.Put(1, offset, 0.025F);
      ExpectTimes(cloud, -0.05, 0.025, 1e-8);
    }
  }
}

TEST(PointTimes, VelodyneTimesThatTheServerCanReadTravelAsTheyAreWhereAskedFor) {
  TestCloud cloud = WithTimes(20);
  cloud.fields.push_back({"intensity", 12, PointField::kFloat32, 1});
  cloud.fields.push_back({"time", 16, PointField::kFloat32, 1});
  for (size_t i = 0; i < 2; ++i) cloud.Put(i, 16, 0.01F);
  CloudEncodingOptions options;
  options.time.any = true;
  const EncodedCloud packed = Encode(cloud, options);
  EXPECT_FALSE(packed.as_is);
  EXPECT_EQ(packed.cloud.layout(), v1::CLOUD_LAYOUT_FLOAT32_XYZT);
  EXPECT_NEAR(Decode(packed.cloud).time_s[1], 0.01, 1e-8);
  options.encoding = CloudEncoding::kAsIs;
  const EncodedCloud encoded = Encode(cloud, options);
  EXPECT_TRUE(encoded.as_is);
  EXPECT_EQ(encoded.cloud.layout(), v1::CLOUD_LAYOUT_FLOAT32_XYZIT);
  EXPECT_NEAR(Decode(encoded.cloud).time_s[1], 0.01, 1e-8);
}

TEST(PointTimes, OusterAutowareAndLivoxNanosecondsAsUint32) {
  for (const char* name : {"t", "time_stamp", "offset_time"}) {
    TestCloud cloud = WithTimes(16);
    cloud.fields.push_back({name, 12, PointField::kUint32, 1});
    cloud.Put(0, 12, uint32_t{0});
    cloud.Put(1, 12, uint32_t{99'000'000});
    ExpectTimes(cloud, 0.0, 0.099, 1e-8);
  }
}

TEST(PointTimes, HesaiSecondsOfTheClockAsDouble) {
  TestCloud cloud = WithTimes(24);
  cloud.fields.push_back({"timestamp", 16, PointField::kFloat64, 1});
  cloud.Put(0, 16, 1'700'000'000.123456789);
  cloud.Put(1, 16, 1'700'000'000.223456789);
  // A double of such seconds has steps of 0.24 us.
  ExpectTimes(cloud, 0.0, 0.1, 5e-7);
}

TEST(PointTimes, LivoxNanosecondsOfTheClockAsDouble) {
  TestCloud cloud = WithTimes(24);
  cloud.fields.push_back({"timestamp", 16, PointField::kFloat64, 1});
  cloud.Put(0, 16, 1'700'000'000'123'456'789.0);
  cloud.Put(1, 16, 1'700'000'000'173'456'789.0);
  ExpectTimes(cloud, 0.0, 0.05, 1e-6);
}

TEST(PointTimes, ReadsBigEndianTimes) {
  TestCloud cloud = WithTimes(16);
  cloud.big_endian = true;
  for (size_t i = 0; i < 2; ++i) {
    for (uint32_t axis = 0; axis < 3; ++axis) cloud.Put(i, 4 * axis, 1.0F);
    cloud.Put(i, 12, uint32_t{10'000'000});
  }
  cloud.fields.push_back({"t", 12, PointField::kUint32, 1});
  ExpectTimes(cloud, 0.01, 0.01, 1e-8);
}

TEST(PointTimes, Int16TimesKeepTenMicroseconds) {
  TestCloud cloud = WithTimes(16);
  cloud.fields.push_back({"t", 12, PointField::kUint32, 1});
  cloud.Put(0, 12, uint32_t{1'234'567});
  cloud.Put(1, 12, uint32_t{98'765'432});
  CloudEncodingOptions options;
  options.encoding = CloudEncoding::kInt16;
  options.time.name = "t";
  const EncodedCloud encoded = Encode(cloud, options);
  EXPECT_EQ(encoded.cloud.data().size(), 16u);
  EXPECT_NEAR(Decode(encoded.cloud).time_s[1], 0.098765432, 5.1e-6);
}

TEST(PointTimes, RefusesTimesOfAnotherClockAndFieldsThatAreNotThere) {
  TestCloud cloud = WithTimes(24);
  cloud.fields.push_back({"timestamp", 16, PointField::kFloat64, 1});
  for (size_t i = 0; i < 2; ++i) cloud.Put(i, 16, 12.5);
  CloudEncodingOptions options;
  options.time.any = true;
  EXPECT_THAT(ErrorOf(cloud, options), HasSubstr("'timestamp' must be within 1 s"));
  options.time = {false, "when"};
  EXPECT_THAT(ErrorOf(cloud, options), AllOf(HasSubstr("'when'"), HasSubstr("x, y, z, timestamp")));
}

// ---- what cannot be read is an error that names the field and its values

TEST(CloudErrors, NameTheMissingField) {
  TestCloud cloud = ThreePoints(16, 0, 4, 8);
  cloud.fields.erase(cloud.fields.begin());
  EXPECT_THAT(ErrorOf(cloud), AllOf(HasSubstr("'z'"), HasSubstr("got x, y")));
}

TEST(CloudErrors, NameTypesCountsAndOffsetsThatAreWrong) {
  TestCloud cloud = ThreePoints(16, 0, 4, 8);
  cloud.fields[1].datatype = PointField::kInt16;
  EXPECT_THAT(ErrorOf(cloud), AllOf(HasSubstr("'x'"), HasSubstr("INT16")));
  cloud.fields[1].datatype = 9;
  EXPECT_THAT(ErrorOf(cloud), HasSubstr("type 9"));
  cloud.fields[1].datatype = PointField::kFloat64;
  EXPECT_THAT(ErrorOf(cloud), HasSubstr("of one type"));
  cloud.fields[1].datatype = PointField::kFloat32;
  cloud.fields[1].count = 3;
  EXPECT_THAT(ErrorOf(cloud), AllOf(HasSubstr("'x'"), HasSubstr("got 3")));
  cloud.fields[1].count = 0;  // as some drivers have it
  EXPECT_EQ(ErrorOf(cloud), "");
  cloud.fields[1].offset = 13;
  EXPECT_THAT(ErrorOf(cloud), AllOf(HasSubstr("'x'"), HasSubstr("point_step, which is 16")));
  cloud.fields[1].offset = 0xFFFFFFFE;
  EXPECT_THAT(ErrorOf(cloud), HasSubstr("4294967294"));
}

TEST(CloudErrors, NameSizesThatContradictEachOther) {
  TestCloud cloud = ThreePoints(16, 0, 4, 8);
  cloud.data.pop_back();
  EXPECT_THAT(ErrorOf(cloud), AllOf(HasSubstr("48 bytes"), HasSubstr("got 47")));
  cloud.data.resize(48);
  cloud.point_step = 0;
  EXPECT_THAT(ErrorOf(cloud), HasSubstr("point_step"));
  cloud.point_step = 16;
  cloud.height = 2;
  cloud.row_step = 47;
  EXPECT_THAT(ErrorOf(cloud), AllOf(HasSubstr("row_step"), HasSubstr("got 47")));
  cloud.width = 0xFFFFFFFF;
  cloud.height = 0xFFFFFFFF;
  cloud.row_step = 0xFFFFFFFF;
  EXPECT_NE(ErrorOf(cloud), "");
}

TEST(CloudErrors, AnEmptyCloudIsNone) {
  TestCloud cloud(0, 0);
  EXPECT_EQ(Encode(cloud).received, 0u);
}

}  // namespace
}  // namespace voxloc::ros
