// SPDX-License-Identifier: Apache-2.0
//
// The lists of candidates against the 27 cells that the CPU engine looks through.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/engine/cpu/cpu_map.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/map/cells.h"
#include "cuda/map/block_set.h"
#include "tests/cuda/map/layer_download.h"
#include "tests/cuda/map/map_fixture.h"
#include "tests/support/composed_cells.h"
#include "tests/support/gaussians_in.h"

namespace voxloc::cuda {
namespace {

// A Gaussian as a cell of the map sees it.
struct Neighbor {
  int shift[3];  // of its index cell from this one
  float index[3];
  float mean[3];
  float information[6];

  [[nodiscard]] int Faces() const {
    return std::abs(shift[0]) + std::abs(shift[1]) + std::abs(shift[2]);
  }
  // From its index position to the cell, in units of the cell size.
  [[nodiscard]] double Distance(double cell_size_m) const {
    double squared = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double at = static_cast<double>(index[axis]) / cell_size_m + shift[axis];
      const double gap = std::max({-at, at - 1.0, 0.0});
      squared += gap * gap;
    }
    return std::sqrt(squared);
  }
};

std::vector<Neighbor> NeighborsOnCpu(const cpu::GaussianGrid& grid, const CellKey& cell) {
  std::vector<Neighbor> neighbors;
  for (int i = 0; i < 27; ++i) {
    const int shift[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
    const CellKey at = {cell.x + shift[0], cell.y + shift[1], cell.z + shift[2]};
    for (const cpu::GaussianRecord& record : GaussiansIn(grid, at)) {
      Neighbor neighbor{};
      std::copy_n(shift, 3, neighbor.shift);
      for (int axis = 0; axis < 3; ++axis) {
        neighbor.index[axis] = record.index[axis];
        neighbor.mean[axis] = record.mean[axis];
      }
      std::copy_n(record.information, 6, neighbor.information);
      neighbors.push_back(neighbor);
    }
  }
  return neighbors;
}

float FromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Whether the entry is this neighbour, as far as rounding lets it be told.
bool IsSame(const ListEntry& entry, const Neighbor& neighbor) {
  const uint16_t halves[3] = {entry.candidate.half_x, entry.candidate.half_y,
                              entry.candidate.half_z};
  const float index[3] = {entry.index.x, entry.index.y, entry.index.z};
  const float mean[3] = {entry.mean.x, entry.mean.y, entry.mean.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (std::floor(FromHalf(halves[axis])) != static_cast<float>(neighbor.shift[axis])) {
      return false;
    }
    if (std::abs(index[axis] - neighbor.index[axis]) > 1e-6F) return false;
    if (std::abs(mean[axis] - neighbor.mean[axis]) > 1e-6F) return false;
  }
  const float b[6] = {entry.record.xx, entry.record.xy, entry.record.xz,
                      entry.record.yy, entry.record.yz, entry.record.zz};
  float largest = 0.0F;
  for (const float value : b) largest = std::max(largest, std::abs(value));
  for (int i = 0; i < 6; ++i) {
    const float expected = neighbor.information[i];
    if (std::abs(b[i] - expected) > 1e-4F * largest) return false;
  }
  return true;
}

// The mean that the record holds is the exact one, which the chunk has beside it. Its bits
// divide what it reaches around the candidate's position.
void ExpectPackedMean(const ListEntry& entry, const Neighbor& neighbor,
                      const CellStatistics& statistics) {
  const double cell_size_m = statistics.cell_size_m;
  const double span_cells = statistics.float_index ? 0x1p-3 : 0x1p-9;
  const uint16_t halves[3] = {entry.candidate.half_x, entry.candidate.half_y,
                              entry.candidate.half_z};
  const float mean[3] = {entry.mean.x, entry.mean.y, entry.mean.z};
  const PackedMean& packed = entry.record.mean;
  const uint64_t bits = uint64_t{packed.high} << 32 | packed.low;
  constexpr double kRounding = 2e-7;  // of quotients to float32
  const double reach = 0.5 * span_cells;
  bool may_be_outside = false;
  bool must_be_outside = false;
  for (int axis = 0; axis < 3; ++axis) {
    const double from_candidate = static_cast<double>(mean[axis]) / cell_size_m +
                                  neighbor.shift[axis] - FromHalf(halves[axis]);
    may_be_outside = may_be_outside || std::abs(from_candidate) >= reach - kRounding;
    must_be_outside = must_be_outside || std::abs(from_candidate) >= reach + kRounding;
    if (packed.IsOutside()) continue;
    const auto steps = static_cast<double>(bits >> (21 * axis) & 0x1fffff);
    ASSERT_NEAR((steps * 0x1p-21 - 0.5) * span_cells, from_candidate,
                0x1p-22 * span_cells + kRounding)
        << axis;
  }
  ASSERT_TRUE(packed.IsOutside() ? may_be_outside : !must_be_outside);
}

// The list has, in the CPU's order, all that is near enough and little else.
void ExpectListOf(const std::vector<ListEntry>& list, const std::vector<Neighbor>& neighbors,
                  const CellKey& cell, const CellStatistics& statistics) {
  const double cell_size_m = statistics.cell_size_m;
  size_t next = 0;
  for (const Neighbor& neighbor : neighbors) {
    const double distance = neighbor.Distance(cell_size_m);
    const bool listed = next < list.size() && IsSame(list[next], neighbor);
    if (neighbor.Faces() <= 1 || distance < 1.0) {
      ASSERT_TRUE(listed) << "cell " << cell.x << " " << cell.y << " " << cell.z
                          << ", neighbour at " << neighbor.shift[0] << " " << neighbor.shift[1]
                          << " " << neighbor.shift[2] << ", distance " << distance << ", entry "
                          << next << " of " << list.size();
    } else if (listed) {
      ASSERT_LT(distance, 1.001);
    }
    if (!listed) continue;
    const Candidate& candidate = list[next].candidate;
    const uint16_t halves[3] = {candidate.half_x, candidate.half_y, candidate.half_z};
    for (int axis = 0; axis < 3; ++axis) {
      const double at = static_cast<double>(neighbor.index[axis]) / cell_size_m +
                        static_cast<double>(neighbor.shift[axis]);
      // Half a step below 2, or a whole one where rounding would reach the next cell.
      ASSERT_NEAR(FromHalf(halves[axis]), at, 0x1p-10 + 1e-6) << axis;
    }
    ExpectPackedMean(list[next], neighbor, statistics);
    if (::testing::Test::HasFatalFailure()) return;
    ++next;
  }
  ASSERT_EQ(next, list.size());
}

class CudaListsTest : public CudaMapTest {
 protected:
  void ExpectAsOnCpu(const std::vector<PointCloud>& clouds) {
    const auto map = Compose(BuildAll(clouds, TestStatistics()), TestStatistics());
    if (map == nullptr) return;
    for (const CellStatistics& statistics : TestStatistics()) {
      SCOPED_TRACE(ToString(statistics));
      std::vector<TileMoments> moments;
      for (const PointCloud& cloud : clouds) {
        moments.push_back(*BuildTileMoments(cloud, statistics.cell_size_m));
      }
      std::vector<const TileMoments*> tiles;
      for (const TileMoments& tile : moments) tiles.push_back(&tile);
      const cpu::GaussianGrid grid = cpu::ComposeGrid(tiles, statistics, nullptr, nullptr);
      const std::map<CellKey, Chunk> chunks = DownloadChunks(*map, statistics);

      BlockBox box;
      for (const MapCell& cell : AllCellsOf(tiles, statistics)) {
        box.Include(BlockOf(CellOf(cell.index, statistics.cell_size_m)));
      }
      const BlockBox around = box.Dilated();
      for (int32_t z = around.first.z; z <= around.last.z; ++z) {
        for (int32_t y = around.first.y; y <= around.last.y; ++y) {
          for (int32_t x = around.first.x; x <= around.last.x; ++x) {
            const auto chunk = chunks.find({x, y, z});
            for (uint32_t place = 0; place < kBlockCells; ++place) {
              const CellKey cell = CellAt({x, y, z}, place);
              const std::vector<ListEntry> list =
                  chunk == chunks.end() ? std::vector<ListEntry>()
                                        : ListOf(chunk->second, place, statistics.float_index);
              ExpectListOf(list, NeighborsOnCpu(grid, cell), cell, statistics);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
      for (const auto& [key, chunk] : chunks) EXPECT_TRUE(around.Contains(key));
    }
  }
};

TEST_F(CudaListsTest, HoldWhatTheCpuLooksThrough) { ExpectAsOnCpu(SceneTiles()); }

TEST_F(CudaListsTest, HoldWhatTheCpuLooksThroughFarFromTheOrigin) {
  ExpectAsOnCpu(SceneTiles({4e5, 4e6, 100.0}));
}

// In map coordinates of float32 the reference's running means lie decimetres off, in other cells
// and blocks than their points.
TEST_F(CudaListsTest, FindCellsWhereTheirFloatIndexIs) {
  std::vector<PointCloud> clouds = SceneTiles();
  for (PointCloud& cloud : clouds) {
    for (size_t i = 0; i < cloud.size(); ++i) {
      cloud.x[i] += 400003.0F;
      cloud.y[i] += 4000009.0F;
    }
  }
  const auto map = Compose(BuildAll(clouds, TestStatistics()), TestStatistics());
  ASSERT_NE(map, nullptr);
  EXPECT_FALSE(map->Layer(TestStatistics()[1])->spill_targets.empty());
  ExpectAsOnCpu(clouds);
}

TEST_F(CudaListsTest, OfTilesOnTopOfEachOtherAreTheCpus) { ExpectAsOnCpu(TilesOnTopOfEachOther()); }

TEST_F(CudaListsTest, OfRealCloudsAreTheCpus) {
  const std::vector<NamedCloud> clouds = RealClouds();
  if (clouds.empty()) GTEST_SKIP() << "no real data";
  for (const NamedCloud& named : clouds) {
    if (named.name.find("scans") != std::string::npos) continue;
    SCOPED_TRACE(named.name);
    // Off the planes of the lattice: which side of one a mean lies on that is right on it is a
    // matter of rounding.
    PointCloud cloud = named.cloud;
    cloud.origin += Eigen::Vector3d(0.1234, 0.2345, 0.3456);
    ExpectAsOnCpu({cloud});
  }
}

}  // namespace
}  // namespace voxloc::cuda
