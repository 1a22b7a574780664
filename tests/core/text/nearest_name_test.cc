// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/text/names.h"

namespace voxloc {
namespace {

TEST(EditDistance, CountsSingleChanges) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "map"), 3u);
  EXPECT_EQ(EditDistance("map", ""), 3u);
  EXPECT_EQ(EditDistance("map", "map"), 0u);
  EXPECT_EQ(EditDistance("map", "mop"), 1u);
  EXPECT_EQ(EditDistance("map", "maps"), 1u);
  EXPECT_EQ(EditDistance("map", "mpa"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3u);
}

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"--server", "--map", "--perturb", "--pose-format",
                                          "--poses"};
  EXPECT_EQ(NearestName("--sever", names), "--server");
  EXPECT_EQ(NearestName("--mpa", names), "--map");
  EXPECT_EQ(NearestName("--pose", names), "--poses");
  EXPECT_EQ(NearestName("--pertrub", names), "--perturb");
  EXPECT_EQ(NearestName("--pert", names), "--perturb");
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(NearestName("--elephants-in-a-row", {"--server", "--map"}), "");
  EXPECT_EQ(NearestName("--map", {}), "");
}

}  // namespace
}  // namespace voxloc
