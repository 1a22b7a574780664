// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_snapshot.h"

#include <gtest/gtest.h>

namespace voxloc {
namespace {

MapTile Tile(const Eigen::Vector3d& min, const Eigen::Vector3d& max, size_t points) {
  MapTile tile;
  tile.bounds.min = min;
  tile.bounds.max = max;
  tile.bounds.finite_points = points;
  tile.points = points;
  return tile;
}

TEST(MapSnapshotTest, AMapWithoutTilesHasNoBounds) {
  const MapSnapshot snapshot;
  EXPECT_EQ(snapshot.points(), 0u);
  EXPECT_EQ(snapshot.bounds().finite_points, 0u);
}

TEST(MapSnapshotTest, PointsAndBoundsAreThoseOfAllTiles) {
  MapSnapshot snapshot;
  snapshot.tiles["b"] = Tile({-5, 2, 1}, {-1, 3, 2}, 7);
  snapshot.tiles["a"] = Tile({100, -4, 0}, {110, 2.5, 9}, 5);
  EXPECT_EQ(snapshot.points(), 12u);
  const Bounds bounds = snapshot.bounds();
  EXPECT_EQ(bounds.finite_points, 12u);
  EXPECT_EQ(bounds.min, Eigen::Vector3d(-5, -4, 0));
  EXPECT_EQ(bounds.max, Eigen::Vector3d(110, 3, 9));
}

TEST(MapSnapshotTest, ATileWithoutPointsDoesNotWidenTheBounds) {
  MapSnapshot snapshot;
  snapshot.tiles["a"] = Tile({0, 0, 0}, {0, 0, 0}, 0);
  snapshot.tiles["b"] = Tile({5, 5, 5}, {6, 6, 6}, 3);
  snapshot.tiles["c"] = Tile({0, 0, 0}, {0, 0, 0}, 0);
  EXPECT_EQ(snapshot.bounds().min, Eigen::Vector3d(5, 5, 5));
  EXPECT_EQ(snapshot.bounds().max, Eigen::Vector3d(6, 6, 6));
  EXPECT_EQ(snapshot.bounds().finite_points, 3u);
}

}  // namespace
}  // namespace voxloc
