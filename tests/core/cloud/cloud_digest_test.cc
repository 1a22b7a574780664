// SPDX-License-Identifier: Apache-2.0
//
// The expected digests are Python's:
//
//   import hashlib, struct
//   def digest(origin, points):
//       sha = hashlib.sha256(struct.pack('<3d', *origin))
//       for point in points: sha.update(struct.pack('<3f', *point))
//       return sha.hexdigest()

#include "core/cloud/cloud_digest.h"

#include <algorithm>
#include <limits>

#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

// digest((10, 0, 0), [(i * 0.25, -i, i % 7) for i in range(3000)])
constexpr char kLongDigest[] = "619f6ab62aaaa7dcb50a2630aff969bb9adec4268670395456367a48803358e0";

PointCloud LongCloud() {
  PointCloud cloud;
  cloud.origin = {10.0, 0.0, 0.0};
  for (int i = 0; i < 3000; ++i) {
    cloud.PushBack(static_cast<float>(i) * 0.25F, static_cast<float>(-i),
                   static_cast<float>(i % 7));
  }
  return cloud;
}

TEST(CloudDigestTest, IsThatOfTheOriginAndThePoints) {
  // digest((0, 0, 0), [])
  EXPECT_EQ(ToHex(DigestOf(PointCloud())),
            "9d908ecfb6b256def8b49a7c504e6c889c4b0e41fe6ce3e01863dd7b61a20aa0");
  PointCloud cloud;
  cloud.origin = {400000.5, -4000000.0, 100.0};
  cloud.PushBack(1.0F, 2.5F, -3.0F);
  cloud.PushBack(0.1F, -0.0F, 1e-40F);
  // digest((400000.5, -4000000, 100), [(1, 2.5, -3), (0.1, -0.0, 1e-40)])
  EXPECT_EQ(ToHex(DigestOf(cloud)),
            "da7ecafd4e20aa785911f6e3df7bea620c53104943e5787f2801b5776f174134");
  EXPECT_EQ(ToHex(DigestOf(LongCloud())), kLongDigest);
}

TEST(CloudDigestTest, LeavesOutIntensityAndPointsThatAreNotFinite) {
  PointCloud cloud;
  cloud.origin = LongCloud().origin;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  cloud.PushBack(nan, 0.0F, 0.0F);
  Append(LongCloud(), cloud);
  cloud.PushBack(0.0F, 0.0F, std::numeric_limits<float>::infinity());
  cloud.intensity.assign(cloud.size(), 3.0F);
  CloudDigest digest(cloud.origin);
  digest.Update(cloud);
  EXPECT_EQ(digest.points(), 3000u);
  EXPECT_EQ(ToHex(digest.Finish()), kLongDigest);
}

TEST(CloudDigestTest, DoesNotDependOnTheChunks) {
  const PointCloud cloud = LongCloud();
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{1023}, size_t{1025}, size_t{2999}}) {
    CloudDigest digest(cloud.origin);
    for (size_t first = 0; first < cloud.size(); first += chunk) {
      digest.Update(cloud, first, std::min(chunk, cloud.size() - first));
    }
    EXPECT_EQ(ToHex(digest.Finish()), kLongDigest) << chunk;
  }
}

// Chunks around several origins have the digest of the cloud that they make together.
TEST(CloudDigestTest, IsTakenAroundTheFirstChunksOrigin) {
  PointCloud whole = RandomCloud(500, 1, false);
  whole.origin = {4'123'456.7, -712'345.6, 33.3};
  CloudDigest digest(whole.origin);
  digest.Update(whole);
  PointCloud more = RandomCloud(500, 2, false);
  more.origin = {4'123'400.0, -712'300.0, 0.0};
  digest.Update(more);
  Append(more, whole);
  EXPECT_EQ(digest.Finish(), DigestOf(whole));
  whole.origin.x() += 0.5;
  EXPECT_NE(DigestOf(whole), DigestOf(more));
}

}  // namespace
}  // namespace voxloc
