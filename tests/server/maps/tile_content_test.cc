// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "core/checksum/sha256.h"
#include "server/maps/tile_loader.h"

namespace voxloc::server {
namespace {

PointCloud Cloud() {
  PointCloud cloud;
  cloud.origin = {500'000.25, 4'000'000.5, 30.125};
  cloud.PushBack(1.5F, -2.25F, 3.0F);
  cloud.PushBack(0.1F, 0.2F, 0.3F);
  return cloud;
}

std::string ContentOf(const PointCloud& cloud) {
  return EncodeOrigin(cloud) + EncodeOffsets(cloud);
}

// python3 -c "import struct,hashlib; print(hashlib.sha256(struct.pack('<3d', 500000.25, 4000000.5,
// 30.125) + struct.pack('<6f', 1.5, -2.25, 3, .1, .2, .3)).hexdigest())"
TEST(TileContent, HasTheDigestThatOthersCompute) {
  EXPECT_EQ(ToHex(Sha256Of(ContentOf(Cloud()))),
            "6895ac938775527869e4dc40fb6b5baaa17da2004a3f87b76541f0e051de023e");
}

TEST(TileContent, ComesBackFromPiecesOfAnySize) {
  const PointCloud cloud = Cloud();
  const std::string content = ContentOf(cloud);
  for (size_t size = 1; size <= content.size(); ++size) {
    TileContentReader reader;
    for (size_t at = 0; at < content.size(); at += size) {
      reader.Append(absl::string_view(content).substr(at, size));
    }
    const auto read = reader.Finish().value();
    EXPECT_EQ(read.origin, cloud.origin);
    EXPECT_EQ(read.x, cloud.x);
    EXPECT_EQ(read.y, cloud.y);
    EXPECT_EQ(read.z, cloud.z);
  }
}

TEST(TileContent, OffsetsMayBeginAnywhere) {
  const PointCloud cloud = Cloud();
  EXPECT_EQ(EncodeOffsets(cloud, 1), EncodeOffsets(cloud).substr(12));
  EXPECT_EQ(EncodeOffsets(cloud, 2), "");
}

TEST(TileContent, ThatEndsEarlyIsRefused) {
  const std::string content = ContentOf(Cloud());
  for (const size_t size : {size_t{0}, size_t{23}, size_t{25}, content.size() - 1}) {
    TileContentReader reader;
    reader.Append(absl::string_view(content).substr(0, size));
    EXPECT_EQ(reader.Finish().status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

}  // namespace
}  // namespace voxloc::server
