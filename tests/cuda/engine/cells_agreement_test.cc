// SPDX-License-Identifier: Apache-2.0
//
// The cells that the device makes of points are those that the CPU engine makes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
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

PointCloud Cloud(const std::vector<Eigen::Vector3f>& points) {
  PointCloud cloud;
  for (const Eigen::Vector3f& p : points) cloud.PushBack(p.x(), p.y(), p.z());
  return cloud;
}

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

TEST_F(CudaTileTest, CloudsThatMakeNoTileAreRefusedAsOnTheCpu) {
  PointCloud not_finite;
  not_finite.PushBack(std::nanf(""), 0.0F, 0.0F);
  PointCloud far = Cloud({{0, 0, 0}});
  far.origin.x() = 1e12;
  PointCloud no_origin = Cloud({{0, 0, 0}});
  no_origin.origin.y() = std::nan("");
  const PointCloud one_beyond = Cloud({{0, 0, 0}, {3e38F, 0, 0}});
  for (const PointCloud& cloud : {PointCloud(), not_finite, far, no_origin, one_beyond}) {
    const auto tile = CudaEngine().BuildTile(cloud, AllStatistics());
    const auto expected = CpuEngine().BuildTile(cloud, AllStatistics());
    EXPECT_EQ(tile.status().code(), expected.status().code()) << tile.status();
    EXPECT_FALSE(tile.ok());
  }
  EXPECT_EQ(CudaEngine().BuildTile(SceneMap(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// One point written many times is no cell; a plane, a line and a huge pile are.
TEST_F(CudaTileTest, DegenerateCellsAreThoseOfTheCpu) {
  PointCloud cloud = SceneMap();
  for (int i = 0; i < 2000; ++i) {
    const auto x = static_cast<float>(0.37 + 1.0 * (i / 15 % 12));
    const auto y = static_cast<float>(-0.21 + 1.0 * (i / 180));
    cloud.PushBack(x, y, 9.123F);
    cloud.PushBack(40.0F + 0.0005F * static_cast<float>(i), 3.5F, 2.5F);
    cloud.PushBack(50.0F + 0.001F * static_cast<float>(i % 50),
                   3.0F + 0.001F * static_cast<float>(i / 50), 2.5F);
  }
  for (int i = 0; i < 200'000; ++i) {
    const auto step = static_cast<float>(i);
    cloud.PushBack(60.1F + 5e-6F * step, 3.1F + 1e-3F * static_cast<float>(i % 700),
                   1.1F + 1e-3F * static_cast<float>(i % 311));
  }
  const MapPair maps = LoadMapPair({cloud}, AllStatistics());
  ASSERT_NE(maps.cpu, nullptr);
  ASSERT_NE(maps.cuda, nullptr);
  for (size_t i = 0; i < AllStatistics().size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(maps.cuda->cells(i), maps.cpu->cells(i));
  }
  auto scan = std::make_shared<PointCloud>(*SceneJob(PreciseProfile()).scan);
  for (int i = 0; i < 200; ++i) {
    scan->PushBack(0.1F * static_cast<float>(i % 20), 0.1F * static_cast<float>(i / 20), 7.6F);
  }
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    AlignJob job = SceneJob(profile);
    job.scan = scan;
    const ResultPair results = AlignOnBoth({job}, maps);
    ASSERT_TRUE(results.cuda[0].status.ok()) << results.cuda[0].status;
    EXPECT_NE(results.cuda[0].termination, Termination::kNotFinite);
    EXPECT_LE(TranslationDistance(results.cuda[0].map_T_base, results.cpu[0].map_T_base), 1e-3);
  }
}

TEST_F(CudaTileTest, CellsInABoxAreThoseOfTheCpu) {
  const MapPair& maps = SceneMapPair();
  const Eigen::Vector3d min(-10.0, -5.0, -1.0);
  const Eigen::Vector3d max(5.0, 12.0, 2.0);
  for (size_t i = 0; i < AllStatistics().size(); ++i) {
    SCOPED_TRACE(i);
    const auto expected = maps.cpu->CellsInBox(i, min, max, 1'000'000);
    ASSERT_TRUE(expected.ok());
    const auto cells = maps.cuda->CellsInBox(i, min, max, expected->size());
    ASSERT_TRUE(cells.ok()) << cells.status();
    ASSERT_EQ(cells->size(), expected->size());
    for (size_t c = 0; c < cells->size(); ++c) {
      EXPECT_TRUE((*cells)[c].key == (*expected)[c].key) << c;
    }
    if (expected->empty()) continue;
    const auto too_many = maps.cuda->CellsInBox(i, min, max, expected->size() - 1);
    EXPECT_EQ(too_many.status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_GT(maps.cuda->MemoryBytes(), maps.cuda->cells(0));
}

}  // namespace
}  // namespace voxloc
