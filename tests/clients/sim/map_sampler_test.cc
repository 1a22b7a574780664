// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/map_sampler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/scenes.h"
#include "tests/clients/sim/surface_distance.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

World SampledTown() {
  TownOptions options;
  options.size_m = 120.0;
  return *BuildTown(options);
}

MapSamplingOptions Coarse(double noise_m) {
  MapSamplingOptions options;
  options.spacing_m = 0.3;
  options.noise_m = noise_m;
  return options;
}

TEST(MapSamplerTest, WithoutNoiseEveryPointLiesOnASurface) {
  const World town = SampledTown();
  const PointCloud map = *SampleMap(town, Coarse(0.0), 1);
  ASSERT_GT(map.size(), 50000U);
  for (size_t i = 0; i < map.size(); i += 41) {
    // Offsets of 80 m in float32 are good to 4 micrometres an axis.
    ASSERT_LT(SurfaceDistance(town.scene, {}, map.Point(i)), 2e-5);
  }
}

TEST(MapSamplerTest, NoPointLiesInsideSomethingOrBelowGround) {
  const World town = SampledTown();
  const PointCloud map = *SampleMap(town, Coarse(0.0), 1);
  size_t inside = 0;
  size_t checked = 0;
  for (size_t i = 0; i < map.size(); i += 41) {
    const Eigen::Vector3d point = map.Point(i);
    EXPECT_GT(point.z(), town.scene.ground().Height(point.x(), point.y()) - 0.02);
    ++checked;
    for (const Solid& solid : town.scene.solids()) {
      if (SignedDistance(solid, point) < -0.02) {
        ++inside;
        break;
      }
    }
  }
  // Patches seen at all five test points are taken whole, so a thin post's foot may be in there.
  EXPECT_LT(static_cast<double>(inside), 0.002 * static_cast<double>(checked));
}

TEST(MapSamplerTest, DensityFollowsTheSpacing) {
  const World town = SampledTown();
  MapSamplingOptions options = Coarse(0.01);
  const double coarse = static_cast<double>(SampleMap(town, options, 0)->size());
  options.spacing_m = 0.15;
  const double fine = static_cast<double>(SampleMap(town, options, 0)->size());
  EXPECT_NEAR(fine / coarse, 4.0, 0.3);

  // Points a square metre of open street.
  options.noise_m = 0.0;
  const PointCloud map = *SampleMap(town, options, 0);
  const Eigen::Vector2d middle = town.streets.streets()[0].PointAt(30.0, 0.0);
  double count = 0.0;
  for (size_t i = 0; i < map.size(); ++i) {
    const Eigen::Vector3d point = map.Point(i);
    if ((point.head<2>() - middle).cwiseAbs().maxCoeff() < 1.5) count += 1.0;
  }
  EXPECT_NEAR(count / 9.0, 1.0 / (0.15 * 0.15), 6.0);
}

TEST(MapSamplerTest, NoiseIsAcrossTheSurface) {
  TownOptions town_options;
  town_options.size_m = 120.0;
  town_options.relief_m = 0.0;
  town_options.building_density = 0.0;
  town_options.tree_density = 0.0;
  const World town = *BuildTown(town_options);
  const PointCloud map = *SampleMap(town, Coarse(0.03), 0);
  double squares = 0.0;
  double count = 0.0;
  for (size_t i = 0; i < map.size(); ++i) {
    const Eigen::Vector3d point = map.Point(i);
    bool lane = false;
    for (const Street& street : town.streets.streets()) {
      lane = lane || street.DistanceTo(point.head<2>()) < 2.5;
    }
    if (!lane || std::abs(point.z()) > 0.2) continue;
    squares += point.z() * point.z();
    count += 1.0;
  }
  ASSERT_GT(count, 5000.0);
  EXPECT_NEAR(std::sqrt(squares / count), 0.03, 1e-3);
}

TEST(MapSamplerTest, TheNumberOfThreadsChangesNothing) {
  const World town = SampledTown();
  const PointCloud one = *SampleMap(town, Coarse(0.01), 1);
  const PointCloud four = *SampleMap(town, Coarse(0.01), 4);
  EXPECT_EQ(one.x, four.x);
  EXPECT_EQ(one.y, four.y);
  EXPECT_EQ(one.z, four.z);
}

TEST(MapSamplerTest, PartsAreTheMapAndEndWithTheReceiversError) {
  ThreadPool pool(2);
  const World town = SampledTown();
  const PointCloud map = *SampleMap(town, Coarse(0.01), 2);
  PointCloud joined;
  size_t parts = 0;
  const auto receive = [&](const PointCloud& part) {
    ++parts;
    Append(part, joined);
    return absl::OkStatus();
  };
  ASSERT_TRUE(SampleMapInParts(town, Coarse(0.01), pool, receive).ok());
  EXPECT_GT(parts, 10u);
  EXPECT_EQ(joined.x, map.x);
  EXPECT_EQ(joined.z, map.z);
  parts = 0;
  const auto refuse = [&](const PointCloud&) {
    ++parts;
    return absl::ResourceExhaustedError("the disk is full");
  };
  EXPECT_EQ(SampleMapInParts(town, Coarse(0.01), pool, refuse),
            absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(parts, 1u);
}

TEST(MapSamplerTest, ReportsProgressToTheEnd) {
  const World town = SampledTown();
  size_t last = 0;
  size_t all = 1;
  ASSERT_TRUE(SampleMap(town, Coarse(0.01), 2, [&](size_t done, size_t total) {
                EXPECT_GT(done, last);
                last = done;
                all = total;
              }).ok());
  EXPECT_EQ(last, all);
}

TEST(MapSamplerTest, TooManyPointsAndAbsurdOptionsAreRefused) {
  const World town = SampledTown();
  MapSamplingOptions options = Coarse(0.01);
  options.max_points = 1000;
  EXPECT_EQ(SampleMap(town, options, 0).status().code(), absl::StatusCode::kResourceExhausted);
  options.spacing_m = 0.0;
  EXPECT_EQ(SampleMap(town, options, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc::sim
