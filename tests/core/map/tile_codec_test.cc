// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/checksum/crc32c.h"
#include "tests/support/moments_comparison.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

std::vector<TileMoments> Lattices() {
  PointCloud cloud = SceneMap({}, {4e5, -4e6, 100.0});
  cloud.PushBack(std::nanf(""), 0.0F, 0.0F);
  std::vector<TileMoments> lattices;
  lattices.push_back(*BuildTileMoments(cloud, 0.5, {false}));
  lattices.push_back(*BuildTileMoments(cloud, 2.0, {true}));
  return lattices;
}

std::vector<const TileMoments*> Pointers(const std::vector<TileMoments>& lattices) {
  std::vector<const TileMoments*> pointers;
  for (const TileMoments& lattice : lattices) pointers.push_back(&lattice);
  return pointers;
}

// With a checksum that is right, as somebody who makes bytes up would write them.
std::string Sealed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  const uint32_t crc = Crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  return bytes;
}

template <typename T>
std::string With(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return Sealed(std::move(bytes));
}

TEST(TileCodecTest, WhatIsDecodedHasTheBitsThatWereEncoded) {
  const std::vector<TileMoments> lattices = Lattices();
  EXPECT_GT(lattices[0].not_finite, 0u);
  const auto bytes = EncodeTile(Pointers(lattices));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto decoded = DecodeTile(*bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->size(), 2u);
  for (size_t i = 0; i < 2; ++i) ExpectSameMoments((*decoded)[i], lattices[i]);
  EXPECT_TRUE((*decoded)[0].float_sums.empty());
  EXPECT_FALSE((*decoded)[1].float_sums.empty());
  EXPECT_EQ(*EncodeTile(Pointers(*decoded)), *bytes);
}

// A change of the layout must change the version: these bytes were written by version 1.
TEST(TileCodecTest, TheLayoutIsThatOfItsVersion) {
  PointCloud cloud;
  cloud.origin = {10.0, 0.0, 0.0};
  cloud.PushBack(0.25F, 0.5F, 0.75F);
  cloud.PushBack(0.5F, 0.5F, 0.5F);
  const TileMoments lattice = *BuildTileMoments(cloud, 2.0);
  const std::string bytes = *EncodeTile({&lattice});
  ASSERT_EQ(bytes.size(), 52u + 20u + 16u + 2u + 80u + 12u + 4u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("VXTM\x01\0\0\0", 8));
  const auto at = [&bytes](size_t offset, auto type) {
    std::memcpy(&type, bytes.data() + offset, sizeof(type));
    return type;
  };
  EXPECT_EQ(at(8, uint64_t{}), 2u);
  EXPECT_EQ(at(24, double{}), 10.0);
  EXPECT_EQ(at(48, uint32_t{}), 1u);
  EXPECT_EQ(at(52, double{}), 2.0);
  EXPECT_EQ(at(60, uint32_t{}), 1u);
  EXPECT_EQ(at(64, uint32_t{}), 1u);
  EXPECT_EQ(at(68, uint32_t{}), 1u);
  EXPECT_EQ(at(72, int32_t{}), 0);
  EXPECT_EQ(at(84, uint32_t{}), 1u);
  EXPECT_EQ(at(88, uint16_t{}), 5u);
  EXPECT_EQ(at(90, uint64_t{}), 2u);
  // From the centre of the cell, (11, 1, 1).
  EXPECT_EQ(at(98, double{}), -1.25);
  EXPECT_EQ(at(122, double{}), 0.8125);
  EXPECT_EQ(at(170, float{}), 0.75F);
  EXPECT_EQ(at(182, uint32_t{}), Crc32c(bytes.substr(0, 182)));
}

TEST(TileCodecTest, AnotherVersionIsNotDamage) {
  const std::vector<TileMoments> lattices = Lattices();
  const std::string bytes = *EncodeTile(Pointers(lattices));
  for (const uint32_t version : {0U, 2U, 0xffffffffU}) {
    const absl::Status status = DecodeTile(With(bytes, 4, version)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("this is version 1"));
  }
  // Nor is a newer one that is shorter than a tile of this one.
  EXPECT_EQ(DecodeTile(Sealed(std::string("VXTM\x02\0\0\0....", 12))).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(TileCodecTest, MadeUpBytesAreRefused) {
  PointCloud cloud;
  for (int i = 0; i < 40; ++i) cloud.PushBack(0.3F * static_cast<float>(i), 1.0F, 1.0F);
  const TileMoments lattice = *BuildTileMoments(cloud, 2.0);
  ASSERT_EQ(lattice.blocks.size(), 1u);
  ASSERT_EQ(lattice.cells(), 6u);
  const std::string bytes = *EncodeTile({&lattice});
  ASSERT_TRUE(DecodeTile(bytes).ok());
  constexpr size_t kPlaces = 88;
  constexpr size_t kMoments = kPlaces + 6 * 2;
  constexpr size_t kFloatSums = kMoments + 6 * 80;
  const double nan = std::nan("");
  const std::vector<std::string> made_up = {
      With(bytes, 8, uint64_t{0}),  // points
      With(bytes, 8, uint64_t{41}),
      With(bytes, 24, nan),          // origin
      With(bytes, 48, uint32_t{0}),  // lattices
      With(bytes, 48, uint32_t{2}),
      With(bytes, 48, uint32_t{0xffffffff}),
      With(bytes, 52, 0.0),  // cell size
      With(bytes, 52, nan),
      With(bytes, 60, uint32_t{2}),           // float sums
      With(bytes, 64, uint32_t{0xffffffff}),  // blocks
      With(bytes, 64, uint32_t{0}),
      With(bytes, 68, uint32_t{0xffffffff}),  // cells
      With(bytes, 68, uint32_t{5}),
      With(bytes, 72, int32_t{1} << 30),  // a block's key
      With(bytes, 84, uint32_t{7}),       // a block's cells
      With(bytes, 84, uint32_t{0}),
      With(bytes, kPlaces, uint16_t{512}),
      With(bytes, kPlaces + 2, uint16_t{0}),  // twice the same
      With(bytes, kMoments, uint64_t{0}),     // a cell's count
      With(bytes, kMoments, ~uint64_t{0}),
      With(bytes, kMoments + 8, 1e9),  // its sum
      With(bytes, kMoments + 8, nan),
      With(bytes, kMoments + 32, nan),  // its outer products
      With(bytes, kFloatSums, 1e30F),
      With(bytes, kFloatSums, std::nanf("")),
  };
  for (size_t i = 0; i < made_up.size(); ++i) {
    const absl::Status status = DecodeTile(made_up[i]).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << i << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("damaged")) << i;
  }
  std::string longer = bytes;
  longer.insert(longer.size() - 4, "x");
  EXPECT_THAT(std::string(DecodeTile(Sealed(longer)).status().message()), HasSubstr("too many"));
}

TEST(TileCodecTest, LatticesOfDifferentTilesAreRefused) {
  std::vector<TileMoments> lattices = Lattices();
  EXPECT_EQ(EncodeTile({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EncodeTile({&lattices[1], &lattices[0]}).status().code(),
            absl::StatusCode::kInvalidArgument);
  lattices[1].origin.x() += 1.0;
  EXPECT_EQ(EncodeTile(Pointers(lattices)).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc
