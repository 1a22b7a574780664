// SPDX-License-Identifier: Apache-2.0
//
// The cells of maps against those that ComposeBlock makes, which the CPU engine uses.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/map/cells.h"
#include "tests/cuda/map/map_fixture.h"
#include "tests/support/composed_cells.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::cuda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
const Eigen::Vector3d kEverywhere = Eigen::Vector3d::Constant(kInfinity);

double RelativeDifference(const ndt::Symmetric3<double>& value,
                          const ndt::Symmetric3<double>& expected) {
  const Eigen::Matrix3d matrix = reference::ToEigen(expected);
  return (reference::ToEigen(value) - matrix).cwiseAbs().maxCoeff() / matrix.cwiseAbs().maxCoeff();
}

void ExpectSameCells(const std::vector<MapCell>& cells, const std::vector<MapCell>& expected) {
  ASSERT_EQ(cells.size(), expected.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const MapCell& a = cells[i];
    const MapCell& b = expected[i];
    ASSERT_TRUE(a.key == b.key) << i << ": " << a.key.x << " " << a.key.y << " " << a.key.z;
    ASSERT_EQ(a.count, b.count) << i;
    ASSERT_LE((a.mean - b.mean).norm(), 1e-6) << i;
    ASSERT_LE((a.index - b.index).norm(), 1e-6) << i;
    ASSERT_LE(RelativeDifference(a.covariance, b.covariance), 1e-4) << i;
    ASSERT_LE(RelativeDifference(a.information, b.information), 1e-4) << i;
  }
}

class CudaCellsInBoxTest : public CudaMapTest {
 protected:
  void ExpectAsOnCpu(const std::vector<PointCloud>& clouds) {
    const auto map = Compose(BuildAll(clouds, TestStatistics()), TestStatistics());
    if (map == nullptr) return;
    for (size_t s = 0; s < TestStatistics().size(); ++s) {
      const CellStatistics statistics = TestStatistics()[s];
      SCOPED_TRACE(ToString(statistics));
      std::vector<TileMoments> moments;
      for (const PointCloud& cloud : clouds) {
        moments.push_back(*BuildTileMoments(cloud, statistics.cell_size_m));
      }
      std::vector<const TileMoments*> tiles;
      for (const TileMoments& tile : moments) tiles.push_back(&tile);
      const std::vector<MapCell> all = AllCellsOf(tiles, statistics);
      EXPECT_EQ(map->cells(s), all.size());
      const auto everywhere = map->CellsInBox(s, -kEverywhere, kEverywhere, kNoLimit);
      ASSERT_TRUE(everywhere.ok()) << everywhere.status();
      ExpectSameCells(*everywhere, all);
      if (all.empty()) continue;  // a thin scan

      // A box whose borders no mean is near.
      const Eigen::Vector3d min = all[all.size() / 2].mean - Eigen::Vector3d(9.1, 7.3, 2.9);
      const Eigen::Vector3d max = all[all.size() / 2].mean + Eigen::Vector3d(5.7, 8.9, 4.1);
      std::vector<MapCell> inside;
      for (const MapCell& cell : all) {
        if ((cell.mean.array() >= min.array()).all() && (cell.mean.array() <= max.array()).all()) {
          inside.push_back(cell);
        }
      }
      const auto in_box = map->CellsInBox(s, min, max, inside.size());
      ASSERT_TRUE(in_box.ok()) << in_box.status();
      ExpectSameCells(*in_box, inside);
      ASSERT_GT(inside.size(), 0u);
      EXPECT_EQ(map->CellsInBox(s, min, max, inside.size() - 1).status().code(),
                absl::StatusCode::kResourceExhausted);
    }
  }
};

TEST_F(CudaCellsInBoxTest, AreThoseOfTheCpu) { ExpectAsOnCpu(SceneTiles()); }

TEST_F(CudaCellsInBoxTest, AreThoseOfTheCpuFarFromTheOrigin) {
  ExpectAsOnCpu(SceneTiles({4e5, 4e6, 100.0}));
}

TEST_F(CudaCellsInBoxTest, OfTilesOnTopOfEachOtherAreThoseOfTheCpu) {
  ExpectAsOnCpu(TilesOnTopOfEachOther());
}

TEST_F(CudaCellsInBoxTest, OfRealCloudsAreThoseOfTheCpu) {
  const std::vector<NamedCloud> clouds = RealClouds();
  if (clouds.empty()) GTEST_SKIP() << "no real data";
  for (const NamedCloud& named : clouds) {
    SCOPED_TRACE(named.name);
    ExpectAsOnCpu({named.cloud});
  }
}

TEST_F(CudaCellsInBoxTest, OfAnEmptyMapAreNone) {
  const auto map = Compose({}, TestStatistics());
  ASSERT_NE(map, nullptr);
  const auto cells = map->CellsInBox(0, -kEverywhere, kEverywhere, 10);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_TRUE(cells->empty());
}

}  // namespace
}  // namespace voxloc::cuda
