// SPDX-License-Identifier: Apache-2.0
//
// Bounds on the device are those of the CPU engine, number for number.

#include <gtest/gtest.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/random_bounds.h"

namespace voxloc {
namespace {

class CudaBoundTest : public CudaEngineTest {
 protected:
  static RandomBoundsOptions Options(int32_t words) {
    RandomBoundsOptions options;
    options.shape.columns_x = 320;
    options.shape.columns_y = 301;
    options.shape.words = words;
    options.shape.shifts = {0, 1, 2};
    options.shape.tolerances = {0, 1, 3};
    options.occupied_share = 0.15;
    options.reach = 40;
    options.points = 163;
    options.headings = 40;
    return options;
  }

  static std::shared_ptr<const ResidentBoundGrid> Keep(Engine& engine, const BoundGrid& grid) {
    auto kept = engine.LoadBoundGrid(grid);
    EXPECT_TRUE(kept.ok()) << kept.status();
    return kept.ok() ? *std::move(kept) : nullptr;
  }

  static void ExpectSame(BoundRequest request, const std::shared_ptr<const ResidentBoundGrid>& cpu,
                         const std::shared_ptr<const ResidentBoundGrid>& cuda) {
    request.grid = cpu;
    const auto expected = CpuEngine().Bound(request);
    request.grid = cuda;
    const auto hits = CudaEngine().Bound(request);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(hits.ok()) << hits.status();
    ASSERT_FALSE(expected->empty());
    ASSERT_EQ(hits->size(), expected->size());
    for (size_t i = 0; i < hits->size(); ++i) {
      ASSERT_EQ((*hits)[i].node, (*expected)[i].node);
      ASSERT_EQ((*hits)[i].hits, (*expected)[i].hits);
      ASSERT_EQ((*hits)[i].z, (*expected)[i].z);
    }
  }
};

TEST_F(CudaBoundTest, EveryNodeHasTheBoundThatTheCpuFinds) {
  for (const int32_t words : {1, 3}) {
    SCOPED_TRACE(words);
    RandomNumbers random(static_cast<uint64_t>(words));
    const RandomBoundsOptions options = Options(words);
    const std::vector<uint64_t> columns = RandomColumns(options, random);
    const auto grid = BoundGrid::Make(options.shape, columns);
    ASSERT_TRUE(grid.ok()) << grid.status();
    const auto cpu = Keep(CpuEngine(), *grid);
    const auto cuda = Keep(CudaEngine(), *grid);
    const auto scan = RandomScan(options, random);
    for (size_t level = 0; level < options.shape.shifts.size(); ++level) {
      for (const auto& [nodes_x, nodes_y, blocks] :
           std::vector<std::tuple<int32_t, int32_t, size_t>>{{4, 4, 5000}, {37, 30, 40}}) {
        BoundRequest request = RandomRequest(options, level, nodes_x, nodes_y, blocks, random);
        request.scan = scan;
        for (const uint32_t least : {1U, 30U, 60U}) {
          request.min_hits = level == 0 && least == 60 ? 40 : least;
          ExpectSame(request, cpu, cuda);
        }
      }
    }
  }
}

// More nodes than go to the device at a time.
TEST_F(CudaBoundTest, LongRequestsKeepTheirOrder) {
  RandomNumbers random(9);
  const RandomBoundsOptions options = Options(1);
  const auto grid = BoundGrid::Make(options.shape, RandomColumns(options, random));
  ASSERT_TRUE(grid.ok());
  const auto cpu = Keep(CpuEngine(), *grid);
  const auto cuda = Keep(CudaEngine(), *grid);
  BoundRequest request = RandomRequest(options, 0, 150, 150, 200, random);
  request.scan = RandomScan(options, random);
  request.min_hits = 45;
  ExpectSame(request, cpu, cuda);
}

TEST_F(CudaBoundTest, AGridOfAnotherEngineIsRefused) {
  RandomNumbers random(4);
  const RandomBoundsOptions options = Options(1);
  const auto grid = BoundGrid::Make(options.shape, RandomColumns(options, random));
  ASSERT_TRUE(grid.ok());
  BoundRequest request = RandomRequest(options, 0, 2, 2, 3, random);
  request.scan = RandomScan(options, random);
  request.grid = Keep(CpuEngine(), *grid);
  EXPECT_EQ(CudaEngine().Bound(request).status().code(), absl::StatusCode::kFailedPrecondition);
  request.grid = Keep(CudaEngine(), *grid);
  EXPECT_EQ(CpuEngine().Bound(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace voxloc
