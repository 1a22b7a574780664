// SPDX-License-Identifier: Apache-2.0
//
// The cells that the device makes of points are those that the CPU engine makes.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "tests/cuda/engine/data_sets.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

constexpr double kMeanM = 1e-6;
constexpr double kMatrixShare = 1e-4;  // of the matrix's largest entry

double RelativeDifference(const ndt::Symmetric3<double>& value,
                          const ndt::Symmetric3<double>& expected) {
  const Eigen::Matrix3d matrix = reference::ToEigen(expected);
  return (reference::ToEigen(value) - matrix).cwiseAbs().maxCoeff() / matrix.cwiseAbs().maxCoeff();
}

struct CellDifferences {
  size_t keys = 0;
  size_t counts = 0;
  double mean_m = 0.0;
  double index_m = 0.0;
  double covariance = 0.0;
  double information = 0.0;
};

void ExpectSameCells(const ResidentMap& cuda, const ResidentMap& cpu,
                     const CellStatistics& statistics) {
  const std::vector<MapCell> cells = AllCells(cuda, statistics);
  const std::vector<MapCell> expected = AllCells(cpu, statistics);
  ASSERT_EQ(cells.size(), expected.size());
  CellDifferences largest;
  for (size_t i = 0; i < cells.size(); ++i) {
    const MapCell& a = cells[i];
    const MapCell& b = expected[i];
    if (!(a.key == b.key)) {
      EXPECT_EQ(largest.keys, 0u) << "cell " << i << " is (" << a.key.x << ", " << a.key.y << ", "
                                  << a.key.z << "), expected (" << b.key.x << ", " << b.key.y
                                  << ", " << b.key.z << ")";
      ++largest.keys;
      continue;
    }
    if (a.count != b.count) {
      EXPECT_EQ(largest.counts, 0u)
          << "cell " << i << " of " << a.count << " points, expected " << b.count;
      ++largest.counts;
    }
    largest.mean_m = std::max(largest.mean_m, (a.mean - b.mean).norm());
    largest.index_m = std::max(largest.index_m, (a.index - b.index).norm());
    largest.covariance =
        std::max(largest.covariance, RelativeDifference(a.covariance, b.covariance));
    largest.information =
        std::max(largest.information, RelativeDifference(a.information, b.information));
  }
  EXPECT_EQ(largest.keys, 0u);
  EXPECT_EQ(largest.counts, 0u);
  EXPECT_LE(largest.mean_m, kMeanM);
  EXPECT_LE(largest.index_m, kMeanM);
  EXPECT_LE(largest.covariance, kMatrixShare);
  EXPECT_LE(largest.information, kMatrixShare);
  std::cout << ToString(statistics) << ": " << cells.size() << " cells, mean " << largest.mean_m
            << " m, index " << largest.index_m << " m, covariance " << largest.covariance
            << ", information " << largest.information << std::endl;
}

class CudaCellsTest : public CudaEngineTest, public ::testing::WithParamInterface<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaCellsTest);

TEST_P(CudaCellsTest, AreThoseOfTheCpuEngineNearTheOriginAndFarFromIt) {
  const auto set = LoadDataSet(GetParam());
  if (!set.ok()) GTEST_SKIP() << set.status().message();
  for (const Eigen::Vector3d& offset :
       {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(4e5, 4e6, 100.0)}) {
    SCOPED_TRACE(offset.y());
    const MapPair maps = LoadMapPair(Moved(*set, offset).tiles, AllStatistics());
    if (maps.cpu == nullptr || maps.cuda == nullptr) continue;
    EXPECT_TRUE(maps.cuda->statistics() == maps.cpu->statistics());
    for (const CellStatistics& statistics : AllStatistics()) {
      SCOPED_TRACE(ToString(statistics));
      ExpectSameCells(*maps.cuda, *maps.cpu, statistics);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaCellsTest, ::testing::ValuesIn(DataSetNames()),
                         [](const auto& set) { return set.param; });
INSTANTIATE_TEST_SUITE_P(Golden, CudaCellsTest, ::testing::ValuesIn(GoldenDataSetNames()),
                         [](const auto& set) { return set.param; });

class CudaTileTest : public CudaEngineTest {};

TEST_F(CudaTileTest, CountsItsPointsAndCellsAsTheCpuEngineDoes) {
  PointCloud cloud = SceneMap();
  for (size_t i = 0; i < cloud.size(); i += 100) cloud.x[i] = HUGE_VALF;
  const auto tile = CudaEngine().BuildTile(cloud, AllStatistics());
  const auto expected = CpuEngine().BuildTile(cloud, AllStatistics());
  ASSERT_TRUE(tile.ok()) << tile.status();
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ((*tile)->points(), (*expected)->points());
  EXPECT_EQ((*tile)->not_finite(), (*expected)->not_finite());
  EXPECT_GT((*tile)->not_finite(), 0u);
  EXPECT_EQ((*tile)->cells(), (*expected)->cells());
  EXPECT_GT((*tile)->MemoryBytes(), (*tile)->cells());
}

TEST_F(CudaTileTest, BuiltTwiceHasTheSameBits) {
  const std::vector<PointCloud> clouds = CutIntoTiles(SceneMap(), 4, 4, {-31, -31}, {15.5, 15.5});
  const auto first = LoadMap(CudaEngine(), clouds, AllStatistics());
  const auto again = LoadMap(CudaEngine(), clouds, AllStatistics());
  ASSERT_NE(first, nullptr);
  ASSERT_NE(again, nullptr);
  for (const CellStatistics& statistics : AllStatistics()) {
    const std::vector<MapCell> a = AllCells(*first, statistics);
    const std::vector<MapCell> b = AllCells(*again, statistics);
    ASSERT_EQ(a.size(), b.size());
    size_t different = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const bool same =
          a[i].key == b[i].key && a[i].count == b[i].count && a[i].mean == b[i].mean &&
          a[i].index == b[i].index &&
          reference::ToEigen(a[i].information) == reference::ToEigen(b[i].information);
      different += same ? 0 : 1;
    }
    EXPECT_EQ(different, 0u) << ToString(statistics);
  }
}

}  // namespace
}  // namespace voxloc
