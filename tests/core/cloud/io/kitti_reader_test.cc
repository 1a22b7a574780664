// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/cloud_pieces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KittiReaderTest, BytesByHand) {
  const std::string data(
      "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f\x00\x00\x40\x40"
      "\x00\x00\xa0\x40\x00\x00\xc0\x40\x00\x00\xe0\x40\x00\x00\x00\x00",
      32);
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, data, "a.bin");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_THAT(cloud->x, ElementsAre(1.0F, 5.0F));
  EXPECT_THAT(cloud->y, ElementsAre(-2.0F, 6.0F));
  EXPECT_THAT(cloud->z, ElementsAre(0.5F, 7.0F));
  EXPECT_THAT(cloud->intensity, ElementsAre(3.0F, 0.0F));
}

TEST(KittiReaderTest, APartOfARecordIsAnErrorAtItsByte) {
  for (size_t size = 1; size < 64; ++size) {
    const auto cloud = ParseCloud(CloudFormat::kKittiBin, std::string(size, '\0'), "a.bin");
    EXPECT_EQ(cloud.ok(), size % 16 == 0) << size;
  }
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, std::string(37, '\0'), "a.bin");
  EXPECT_THAT(
      std::string(cloud.status().message()),
      AllOf(HasSubstr("a.bin: byte 32"), HasSubstr("multiple of 16 bytes"), HasSubstr("(got 37)")));
}

TEST(KittiReaderTest, LimitsHold) {
  CloudReadOptions limits;
  limits.max_points = 2;
  EXPECT_TRUE(ParseCloud(CloudFormat::kKittiBin, std::string(32, '\0'), "a.bin", limits).ok());
  EXPECT_EQ(
      ParseCloud(CloudFormat::kKittiBin, std::string(48, '\0'), "a.bin", limits).status().code(),
      absl::StatusCode::kResourceExhausted);
}

constexpr size_t kRings = 16;

// A scan of a spinning LiDAR on a flat ground between wavy walls: ring by ring at each bearing, as
// drivers write it, or in no order. x y z, then an intensity, the ring, the time and constants.
std::string BinScan(size_t floats, size_t bearings, bool ordered) {
  std::mt19937 random(7);
  std::vector<std::vector<float>> points;
  for (size_t i = 0; i < bearings * kRings; ++i) {
    const double bearing =
        2.0 * M_PI * static_cast<double>(i / kRings) / static_cast<double>(bearings);
    const double elevation = (2.0 * static_cast<double>(i % kRings) - 15.0) * M_PI / 180.0;
    const double wall_m = 20.0 + 10.0 * std::sin(3.0 * bearing);
    const double range_m = elevation < 0.0 ? std::min(wall_m, -1.8 / std::sin(elevation)) : wall_m;
    std::vector<float> point = {
        static_cast<float>(range_m * std::cos(elevation) * std::cos(bearing)),
        static_cast<float>(range_m * std::cos(elevation) * std::sin(bearing)),
        static_cast<float>(range_m * std::sin(elevation)),
        static_cast<float>(random() % 256),
        static_cast<float>(i % kRings),
        static_cast<float>(1e-5 * static_cast<double>(i)),
        1.0F,
        3.0F};
    point.resize(floats);
    points.push_back(point);
  }
  if (!ordered) std::shuffle(points.begin(), points.end(), random);
  std::string bytes;
  for (const std::vector<float>& point : points) {
    for (const float value : point) bytes += Bytes(value);
  }
  return bytes;
}

TEST(RecordFloatsTest, ValuesShowTheRecordOfAScan) {
  const ScratchDir scratch;
  for (const size_t floats : {4, 5, 6}) {
    // 105 and 420 bearings make the size fit all of 3 to 7 floats, the last reads parts of the
    // file.
    for (const size_t bearings : {7, 105, 420, 2520}) {
      for (const bool ordered : {true, false}) {
        const std::string bytes = BinScan(floats, bearings, ordered);
        const auto cloud = ParseCloud(CloudFormat::kKittiBin, bytes, "a.bin");
        ASSERT_TRUE(cloud.ok()) << floats << " " << bearings << " " << cloud.status();
        ASSERT_EQ(cloud->size(), bearings * kRings);
        CloudReadOptions told;
        told.record_floats = floats;
        const auto expected = ParseCloud(CloudFormat::kKittiBin, bytes, "a.bin", told);
        ASSERT_TRUE(expected.ok()) << expected.status();
        EXPECT_TRUE(SameBits(*cloud, *expected));

        const std::string path = scratch.Write("a.bin", bytes);
        const auto info = InspectCloud(path);
        ASSERT_TRUE(info.ok()) << info.status();
        EXPECT_EQ(info->record->floats, floats);
        auto pieces = CloudPieceReader::Open(path);
        ASSERT_TRUE(pieces.ok()) << pieces.status();
        EXPECT_TRUE(SameBits(*pieces->Next(), *expected));
      }
    }
  }
}

TEST(RecordFloatsTest, OtherRecordsAreRefusedUnlessRequested) {
  for (const size_t floats : {3, 7, 8}) {
    for (const bool ordered : {true, false}) {
      const std::string bytes = BinScan(floats, 420, ordered);
      const auto cloud = ParseCloud(CloudFormat::kKittiBin, bytes, "a.bin");
      EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument) << floats;
      EXPECT_THAT(std::string(cloud.status().message()),
                  AllOf(HasSubstr("a.bin"), HasSubstr("--record-floats")));
      CloudReadOptions told;
      told.record_floats = floats;
      const auto read = ParseCloud(CloudFormat::kKittiBin, bytes, "a.bin", told);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(read->size(), 420 * kRings);
      EXPECT_EQ(read->has_intensity(), floats > 3);
    }
  }
}

TEST(RecordFloatsTest, FourPointsOfNuScenesAreNotFiveOfKitti) {
  std::string bytes;
  for (const float x : {1.0F, 2.0F, 3.0F, 4.0F}) bytes += Bytes(x, 0.0F, -1.8F, 4.0F, 0.0F);
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, bytes, "five.bin");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_THAT(cloud->x, ElementsAre(1.0F, 2.0F, 3.0F, 4.0F));
  EXPECT_THAT(cloud->z, Each(-1.8F));
}

TEST(RecordFloatsTest, WhatTheValuesDoNotShowIsRefused) {
  std::mt19937 random(1);
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += Bytes(static_cast<float>(random() % 1000) - 500.0F);
  // Nothing speaks against KITTI's record, where it fits.
  EXPECT_EQ(ParseCloud(CloudFormat::kKittiBin, bytes, "a.bin")->size(), 5u);
  const auto refused = ParseCloud(CloudFormat::kKittiBin, bytes.substr(0, 60), "a.bin");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("--record-floats"), HasSubstr("60 bytes"), HasSubstr("KITTI: 4")));
  // The name of nuScenes' files settles it, and their size has to fit.
  EXPECT_EQ(ParseCloud(CloudFormat::kKittiBin, bytes, "a.pcd.bin")->size(), 4u);
  EXPECT_THAT(
      std::string(
          ParseCloud(CloudFormat::kKittiBin, bytes.substr(16), "a.pcd.bin").status().message()),
      AllOf(HasSubstr("multiple of 20 bytes"), HasSubstr("--record-floats")));
  EXPECT_FALSE(ParseCloud(CloudFormat::kKittiBin, BinScan(4, 105, true), "a.pcd.bin").ok());
}

TEST(RecordFloatsTest, ARequestedRecordHasToFit) {
  CloudReadOptions told;
  told.record_floats = 7;
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, BinScan(4, 7, true), "a.bin", told);
  EXPECT_TRUE(cloud.ok()) << cloud.status();  // 64 points of 7 bearings are a multiple of 7
  const auto cut = ParseCloud(CloudFormat::kKittiBin, BinScan(4, 7, true).substr(4), "a.bin", told);
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr("multiple of 28 bytes"));
  for (const size_t floats : {1, 2, 33}) {
    told.record_floats = floats;
    EXPECT_THAT(
        std::string(ParseCloud(CloudFormat::kKittiBin, "1234", "a.bin", told).status().message()),
        HasSubstr("--record-floats must be 3 to 32"));
  }
}

TEST(RecordFloatsTest, DoublesAreNotTakenForFloats) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    bytes += Bytes(0.1 * static_cast<double>(i), std::sin(0.01 * static_cast<double>(i)), 1.7);
  }
  const auto cloud = ParseCloud(CloudFormat::kKittiBin, bytes, "a.bin");
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc
