// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/map/map_fixture.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/cloud/io/cloud_file.h"
#include "tests/support/real_data.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc::cuda {

std::vector<CellStatistics> TestStatistics() {
  CellStatistics merged;
  CellStatistics as_reference;
  as_reference.cell_size_m = 1.3;
  as_reference.gaussian.identity_seed = true;
  as_reference.merge_tiles = false;
  as_reference.float_index = true;
  CellStatistics sharp;
  sharp.cell_size_m = 1.0;
  sharp.gaussian.eigenvalue_ratio = 0.001;
  CellStatistics per_tile;
  per_tile.cell_size_m = 1.3;
  per_tile.gaussian.min_points = 3;
  per_tile.merge_tiles = false;
  return {merged, as_reference, sharp, per_tile};
}

std::vector<PointCloud> SceneTiles(const Eigen::Vector3d& origin) {
  SceneOptions options;
  options.points_per_m2 = 20.0;
  // The cuts lie within cells, so that tiles share some.
  return CutIntoTiles(SceneMap(options, origin), 4, 4, {-31.3, -31.3}, {15.7, 15.7});
}

std::vector<PointCloud> TilesOnTopOfEachOther() {
  const PointCloud scene = SceneTiles()[9];
  std::vector<PointCloud> layers(12);
  for (size_t i = 0; i < scene.size(); ++i) {
    layers[i % layers.size()].PushBack(scene.x[i], scene.y[i], scene.z[i]);
  }
  return layers;
}

std::vector<NamedCloud> RealClouds() {
  std::vector<NamedCloud> clouds;
  const auto folder = RealDataDir();
  if (!folder.has_value()) return clouds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (!entry.is_regular_file() || !CloudFormatOf(entry.path().string()).ok()) continue;
    auto cloud = ReadCloud(entry.path().string());
    EXPECT_TRUE(cloud.ok()) << cloud.status();
    if (cloud.ok()) clouds.push_back({entry.path().string(), *std::move(cloud)});
  }
  std::sort(clouds.begin(), clouds.end(),
            [](const NamedCloud& a, const NamedCloud& b) { return a.name < b.name; });
  return clouds;
}

void CudaMapTest::SetUp() {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  Open({});
}

void CudaMapTest::TearDown() {
  if (device_ != nullptr) {
    EXPECT_TRUE(device_->healthy()) << device_->MakeCurrent();
  }
}

void CudaMapTest::Open(const DeviceOptions& options) {
  builder_.reset();
  auto device = Device::Open(options);
  ASSERT_TRUE(device.ok()) << device.status();
  device_ = *std::move(device);
  auto builder = MapBuilder::Create(device_);
  ASSERT_TRUE(builder.ok()) << builder.status();
  builder_ = *std::move(builder);
}

std::shared_ptr<const CudaTile> CudaMapTest::Build(const PointCloud& cloud,
                                                   const std::vector<CellStatistics>& statistics) {
  auto tile = builder_->BuildTile(cloud, statistics);
  EXPECT_TRUE(tile.ok()) << tile.status();
  return tile.ok() ? *tile : nullptr;
}

Tiles CudaMapTest::BuildAll(const std::vector<PointCloud>& clouds,
                            const std::vector<CellStatistics>& statistics) {
  Tiles tiles;
  for (const PointCloud& cloud : clouds) tiles.push_back(Build(cloud, statistics));
  return tiles;
}

std::shared_ptr<const CudaMap> CudaMapTest::Compose(const Tiles& tiles,
                                                    const std::vector<CellStatistics>& statistics,
                                                    const CudaMap* previous) {
  auto map = builder_->Compose(tiles, statistics, previous);
  EXPECT_TRUE(map.ok()) << map.status();
  return map.ok() ? *map : nullptr;
}

}  // namespace voxloc::cuda
