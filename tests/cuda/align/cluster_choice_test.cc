// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/cluster_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace voxloc::cuda {
namespace {

TEST(LargestUsableClusterTest, IsTheLargestThatTheDeviceAllows) {
  for (const int allowed : {16, 8, 4, 2, 1, 0}) {
    EXPECT_EQ(LargestUsableCluster(16, [=](int cluster) { return cluster <= allowed; }),
              allowed == 0 ? 1 : allowed);
  }
}

// As with a driver that returns an error for all of them.
TEST(LargestUsableClusterTest, ADeviceThatRefusesEverySizeWorksWithoutClusters) {
  std::vector<int> asked;
  const auto refuse = [&asked](int cluster) {
    asked.push_back(cluster);
    return false;
  };
  EXPECT_EQ(LargestUsableCluster(16, refuse), 1);
  EXPECT_EQ(asked, (std::vector<int>{16, 8, 4, 2}));
}

TEST(ChooseClusterTest, ALoneScanGetsTheLargest) {
  EXPECT_EQ(ChooseCluster(16, 132, {1, 48}), 16);
  EXPECT_EQ(ChooseCluster(8, 132, {1, 48}), 8);
  EXPECT_EQ(ChooseCluster(1, 132, {1, 48}), 1);
}

TEST(ChooseClusterTest, NoBlockIsWithoutAChunk) {
  EXPECT_EQ(ChooseCluster(16, 132, {1, 1}), 1);
  EXPECT_EQ(ChooseCluster(16, 132, {1, 7}), 4);
  EXPECT_EQ(ChooseCluster(16, 132, {1, 16}), 16);
}

TEST(ChooseClusterTest, AMultiprocessorGetsTwoBlocksAtMost) {
  for (size_t jobs = 1; jobs <= 1000; ++jobs) {
    const int cluster = ChooseCluster(16, 132, {jobs, 1000});
    EXPECT_TRUE(cluster == 1 || jobs * static_cast<size_t>(cluster) <= 264) << jobs;
    EXPECT_TRUE(cluster == 16 || 2 * jobs * static_cast<size_t>(cluster) > 264) << jobs;
  }
}

}  // namespace
}  // namespace voxloc::cuda
