// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/launch_shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace voxloc::cuda {
namespace {

TEST(LargestUsableClusterTest, IsTheLargestThatTheDeviceAllows) {
  for (const int allowed : {16, 8, 4, 2, 1, 0}) {
    EXPECT_EQ(MaxUsableCluster(16, [=](int cluster) { return cluster <= allowed; }),
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
  EXPECT_EQ(MaxUsableCluster(16, refuse), 1);
  EXPECT_EQ(asked, (std::vector<int>{16, 8, 4, 2}));
}

TEST(ChooseClusterTest, ALoneScanGetsTheLargest) {
  EXPECT_EQ(ChooseCluster(16, 264, {1, 48}), 16);
  EXPECT_EQ(ChooseCluster(8, 264, {1, 48}), 8);
  EXPECT_EQ(ChooseCluster(1, 264, {1, 48}), 1);
}

TEST(ChooseClusterTest, NoBlockIsWithoutAChunk) {
  EXPECT_EQ(ChooseCluster(16, 264, {1, 1}), 1);
  EXPECT_EQ(ChooseCluster(16, 264, {1, 7}), 4);
  EXPECT_EQ(ChooseCluster(16, 264, {1, 16}), 16);
}

TEST(ChooseClusterTest, ThereAreAsManyBlocksAsAllowed) {
  for (size_t jobs = 1; jobs <= 1000; ++jobs) {
    const int cluster = ChooseCluster(16, 264, {jobs, 1000});
    EXPECT_TRUE(cluster == 1 || jobs * static_cast<size_t>(cluster) <= 264) << jobs;
    EXPECT_TRUE(cluster == 16 || 2 * jobs * static_cast<size_t>(cluster) > 264) << jobs;
  }
}

TEST(ChooseShapeTest, TheMoreBlocksTheSmaller) {
  const auto of = [](size_t jobs) {
    return ChooseShape(16, Exchange::kCluster, 132, {jobs, 48}, DeviceUse::kWhole);
  };
  EXPECT_EQ(of(1).cluster, 16);
  EXPECT_EQ(of(1).blocks, BlockSize::kShort);
  EXPECT_EQ(of(16).cluster, 16);
  EXPECT_EQ(of(16).blocks, BlockSize::kShort);
  EXPECT_EQ(of(64).cluster, 4);
  EXPECT_EQ(of(64).blocks, BlockSize::kLong);
  EXPECT_EQ(of(264).cluster, 1);
  EXPECT_EQ(of(264).blocks, BlockSize::kLone);
  EXPECT_EQ(of(265).cluster, 1);
  EXPECT_EQ(of(265).blocks, BlockSize::kSmall);
}

TEST(ChooseShapeTest, FewLongScansHaveWholeMultiprocessors) {
  const auto of = [](size_t jobs, size_t chunks) {
    return ChooseShape(16, Exchange::kCluster, 132, {jobs, chunks}, DeviceUse::kWhole).blocks;
  };
  EXPECT_EQ(of(1, 128), BlockSize::kShort);
  EXPECT_EQ(of(1, 129), BlockSize::kWide);
  EXPECT_EQ(of(2, 1000), BlockSize::kWide);
  EXPECT_EQ(of(3, 1000), BlockSize::kLong);
}

TEST(ChooseShapeTest, GroupsHaveOneSizeOfBlocksAndFitOnTheDevice) {
  for (size_t jobs = 1; jobs <= 300; ++jobs) {
    const LaunchShape shape =
        ChooseShape(16, Exchange::kGroup, 132, {jobs, 1000}, DeviceUse::kWhole);
    EXPECT_EQ(shape.blocks == BlockSize::kGroup, shape.cluster > 1) << jobs;
    EXPECT_TRUE(shape.cluster == 1 || jobs * static_cast<size_t>(shape.cluster) <= 264) << jobs;
  }
  EXPECT_EQ(ChooseShape(16, Exchange::kGroup, 132, {1, 48}, DeviceUse::kWhole).cluster, 16);
  EXPECT_EQ(ChooseShape(16, Exchange::kGroup, 8, {1, 48}, DeviceUse::kWhole).cluster, 16);
  EXPECT_EQ(ChooseShape(16, Exchange::kGroup, 132, {1, 48}, DeviceUse::kPart).cluster, 1);
}

TEST(ChooseShapeTest, PartsOfACallHaveSmallLoneBlocks) {
  for (const size_t jobs : {size_t{1}, size_t{100}, size_t{1000}}) {
    const LaunchShape shape =
        ChooseShape(16, Exchange::kCluster, 132, {jobs, 48}, DeviceUse::kPart);
    EXPECT_EQ(shape.cluster, 1) << jobs;
    EXPECT_EQ(shape.blocks, BlockSize::kSmall) << jobs;
  }
}

TEST(ChooseShapeTest, InTheBackgroundThereIsALargerBlockForEachMultiprocessor) {
  for (size_t jobs = 1; jobs <= 1000; ++jobs) {
    const LaunchShape shape =
        ChooseShape(16, Exchange::kCluster, 132, {jobs, 1000}, DeviceUse::kBackground);
    const bool one_each = jobs * static_cast<size_t>(shape.cluster) <= 132;
    EXPECT_EQ(shape.blocks == BlockSize::kSmall, !one_each) << jobs;
    EXPECT_TRUE(one_each || shape.cluster == 1) << jobs;
  }
}

}  // namespace
}  // namespace voxloc::cuda
