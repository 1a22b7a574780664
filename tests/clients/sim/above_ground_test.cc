// SPDX-License-Identifier: Apache-2.0
//
// Limits above the ground, as `voxloc map load --above-ground` has them, in towns whose ground is
// known.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "clients/sim/map_sampler.h"
#include "clients/sim/scenes.h"
#include "core/cloud/ground.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

// Tiles of 50 m, of which each knows its own points only.
std::map<std::pair<int, int>, PointCloud> TilesOf(const PointCloud& map) {
  std::map<std::pair<int, int>, PointCloud> tiles;
  for (size_t i = 0; i < map.size(); ++i) {
    const Eigen::Vector3d place = (map.Point(i) / 50.0).array().floor();
    tiles[{static_cast<int>(place.x()), static_cast<int>(place.y())}].PushBack(map.x[i], map.y[i],
                                                                               map.z[i]);
  }
  return tiles;
}

// The share of a town's points that are on the wrong side of a limit above the ground.
double WrongShare(uint64_t seed, double relief_m, double limit_m) {
  TownOptions options;
  options.seed = seed;
  options.size_m = 200.0;
  options.relief_m = relief_m;
  const World town = *BuildTown(options);
  MapSamplingOptions sampling;
  sampling.seed = seed;
  sampling.spacing_m = 0.3;
  const auto above = [&](const PointCloud& cloud) {
    size_t points = 0;
    for (size_t i = 0; i < cloud.size(); ++i) {
      const Eigen::Vector3d point = cloud.Point(i);
      points += point.z() > town.scene.ground().Height(point.x(), point.y()) + limit_m ? 1 : 0;
    }
    return points;
  };
  size_t all = 0;
  size_t wrong = 0;
  for (const auto& [place, tile] : TilesOf(*SampleMap(town, sampling, 1))) {
    const PointCloud high = *CropAboveGround(tile, {std::nextafter(limit_m, 1e3), 1e3});
    const PointCloud low = *CropAboveGround(tile, {0.0, limit_m});
    EXPECT_EQ(high.size() + low.size(), tile.size());
    all += tile.size();
    wrong += high.size() - above(high) + above(low);
  }
  return static_cast<double>(wrong) / static_cast<double>(all);
}

TEST(AboveGroundTest, PointsOfTownsAreOnTheRightSideOfALimit) {
  for (const uint64_t seed : {11, 12}) {
    for (const double relief_m : {4.0, 12.0}) {
      for (const double limit_m : {0.5, 3.0}) {
        EXPECT_LT(WrongShare(seed, relief_m, limit_m), 0.01)
            << "seed " << seed << ", relief " << relief_m << " m, limit " << limit_m << " m";
      }
    }
  }
}

}  // namespace
}  // namespace voxloc::sim
