// SPDX-License-Identifier: Apache-2.0
//
// A device with a map builder, and tiles to build maps of.

#ifndef VOXLOC_TESTS_CUDA_MAP_MAP_FIXTURE_H_
#define VOXLOC_TESTS_CUDA_MAP_MAP_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "cuda/map/map_builder.h"
#include "tests/support/cuda_device.h"

namespace voxloc::cuda {

using Tiles = std::vector<std::shared_ptr<const CudaTile>>;

// Every way that cells are made of moments: merged and not, with and without a float32 index, with
// and without a seed, on three lattices.
std::vector<CellStatistics> TestStatistics();

// The synthetic scene, thin enough for an instrumented run, cut into 4 x 4 tiles.
std::vector<PointCloud> SceneTiles(const Eigen::Vector3d& origin = Eigen::Vector3d::Zero());

// Many tiles in the same cells, as when every scan of a drive is a tile.
std::vector<PointCloud> TilesOnTopOfEachOther();

struct NamedCloud {
  std::string name;
  PointCloud cloud;
};
// Every cloud in the real data's folder.
std::vector<NamedCloud> RealClouds();

// Skips without a device.
class CudaMapTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // Everything works to the end.
  void TearDown() override;
  void Open(const DeviceOptions& options);

  // Null, and a failed test, where it cannot be had.
  std::shared_ptr<const CudaTile> Build(const PointCloud& cloud,
                                        const std::vector<CellStatistics>& statistics);
  Tiles BuildAll(const std::vector<PointCloud>& clouds,
                 const std::vector<CellStatistics>& statistics);
  std::shared_ptr<const CudaMap> Compose(const Tiles& tiles,
                                         const std::vector<CellStatistics>& statistics,
                                         const CudaMap* previous = nullptr);

  std::shared_ptr<Device> device_;
  std::unique_ptr<MapBuilder> builder_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_MAP_MAP_FIXTURE_H_
