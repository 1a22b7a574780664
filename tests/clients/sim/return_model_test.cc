// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/lidar.h"
#include "clients/sim/scenes.h"
#include "tests/clients/sim/test_worlds.h"

namespace voxloc::sim {
namespace {

Scene Of(const std::vector<Solid>& solids) {
  return {Ground(1.0, 1.0, [](double, double) { return -100.0; }), solids};
}

Solid Ball(double radius_m) {
  Solid ball;
  ball.shape = Shape::kEllipsoid;
  ball.half_extent = Eigen::Vector3d::Constant(radius_m);
  return ball;
}

Solid Box(const Eigen::Vector3d& min, const Eigen::Vector3d& max) {
  Solid box;
  box.center = 0.5 * (min + max);
  box.half_extent = 0.5 * (max - min);
  return box;
}

PointCloud Scan(const LidarOptions& options, const Scene& scene, double height_m = 0.0) {
  Pose pose;
  pose.translation.z() = height_m;
  return Lidar(options).Scan(RayCaster(scene), pose, 0);
}

TEST(ReturnModelTest, NoiseGrowsWithTheRangeInQuadrature) {
  LidarOptions options = ExactOptions();
  options.range_noise_m = 0.02;
  options.range_noise_per_m = 0.001;
  for (const double radius_m : {10.0, 80.0}) {
    const PointCloud scan = Scan(options, Of({Ball(radius_m)}));
    double squares = 0.0;
    for (size_t i = 0; i < scan.size(); ++i) {
      squares += std::pow(scan.Point(i).norm() - radius_m, 2);
    }
    const double expected = std::sqrt(0.02 * 0.02 + 1e-6 * radius_m * radius_m);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(scan.size())), expected, 0.01 * expected);
  }
}

TEST(ReturnModelTest, BiasIsAddedToEveryRange) {
  LidarOptions options = ExactOptions();
  options.range_bias_m = -0.07;
  const PointCloud scan = Scan(options, Of({Ball(10.0)}));
  ASSERT_EQ(scan.size(), 57600U);
  for (size_t i = 0; i < scan.size(); ++i) EXPECT_NEAR(scan.Point(i).norm(), 9.93, 1e-5);
}

// A plate at x = 10 whose edge is the line y = 0, before a wall at x = far_m.
std::vector<double> RangesBetween(double divergence_deg, double far_m) {
  LidarOptions options = ExactOptions();
  options.rings = 1;
  options.min_elevation_deg = options.max_elevation_deg = 0.0;
  options.azimuth_steps = 36000;  // every 0.01 deg
  options.beam_divergence_deg = divergence_deg;
  const Scene scene = Of({Box({10.0, 0.0, -5.0}, {10.05, 30.0, 5.0}),
                          Box({far_m, -50.0, -5.0}, {far_m + 1.0, 50.0, 5.0})});
  std::vector<double> between;
  const PointCloud scan = Scan(options, scene);
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector3d point = scan.Point(i);
    if (std::abs(point.y()) > 2.0 || point.x() < 0.0) continue;
    if (point.x() > 10.001 && point.x() < far_m - 0.001) {
      between.push_back(point.x());
      // Half a beam from the edge at the most.
      const double azimuth_deg = std::atan2(point.y(), point.x()) * 180.0 / 3.14159265358979;
      EXPECT_LT(std::abs(azimuth_deg), 0.5 * divergence_deg + 0.001);
    }
  }
  return between;
}

TEST(ReturnModelTest, BeamsMixTheSurfacesAtAnEdge) {
  EXPECT_TRUE(RangesBetween(0.0, 11.0).empty());
  const std::vector<double> between = RangesBetween(0.4, 11.0);
  // Of 40 rays within half a beam, those whose edge lies on the other side of the plate's.
  EXPECT_GT(between.size(), 5U);
  EXPECT_LT(between.size(), 30U);
  double low = 11.0;
  double high = 10.0;
  for (const double x : between) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_LT(low, 10.4);
  EXPECT_GT(high, 10.6);
}

TEST(ReturnModelTest, SurfacesFarFromEachOtherDoNotMix) {
  EXPECT_TRUE(RangesBetween(0.4, 13.0).empty());
}

TEST(ReturnModelTest, GlassAndDarkPaintLoseTheirShareOfTheReturns) {
  Solid ball = Ball(10.0);
  LidarOptions options = ExactOptions();
  options.dropout = 0.1;
  options.glass_dropout = 0.7;
  options.dark_car_dropout = 0.4;
  const std::vector<std::pair<Material, double>> kept = {
      {Material::kMatt, 0.9}, {Material::kGlass, 0.9 * 0.3}, {Material::kDarkPaint, 0.9 * 0.6}};
  for (const auto& [material, share] : kept) {
    ball.material = material;
    const PointCloud scan = Scan(options, Of({ball}));
    EXPECT_NEAR(static_cast<double>(scan.size()) / 57600.0, share, 0.01);
  }
}

TEST(ReturnModelTest, WetGroundIsLostWhereItIsSeenAtAGrazingAngle) {
  const Scene scene(Ground(100.0), {});
  LidarOptions options = ExactOptions();
  options.rings = 1;
  options.azimuth_steps = 20000;
  options.wet_ground_dropout = 0.8;
  for (const double elevation_deg : {-60.0, -20.0, -3.0}) {
    options.min_elevation_deg = options.max_elevation_deg = elevation_deg;
    const double grazing = 1.0 - std::sin(-elevation_deg * 3.14159265358979 / 180.0);
    EXPECT_NEAR(static_cast<double>(Scan(options, scene, 2.0).size()) / 20000.0,
                1.0 - 0.8 * grazing * grazing, 0.012);
  }
}

TEST(ReturnModelTest, IncidenceCountsOnAnySurfaceButNotHeadOn) {
  LidarOptions options = ExactOptions();
  options.incidence_dropout = 1.0;
  EXPECT_EQ(Scan(options, Of({Ball(10.0)})).size(), 57600U);
  options.rings = 1;
  options.min_elevation_deg = options.max_elevation_deg = 0.0;
  options.azimuth_steps = 36000;
  // Walls at y = 3: the incidence at azimuth a has the cosine sin(a).
  const PointCloud scan = Scan(options, Of({Box({-95.0, 3.0, -5.0}, {95.0, 4.0, 5.0})}));
  double steep = 0.0;
  double grazing = 0.0;
  for (size_t i = 0; i < scan.size(); ++i) {
    const double sine = scan.Point(i).y() / scan.Point(i).norm();
    if (sine > std::sin(1.0)) steep += 1.0;
    if (sine < std::sin(0.1)) grazing += 1.0;
  }
  const double steps_per_rad = 36000.0 / (2.0 * 3.14159265358979);
  EXPECT_NEAR(steep / (steps_per_rad * (3.14159265358979 - 2.0)), 1.0, 0.01);
  EXPECT_LT(grazing / (steps_per_rad * 2.0 * (0.1 - 0.0316)), 0.35);
}

TEST(ReturnModelTest, SomeCarsAreDarkAndWindowsAreOfGlass) {
  int dark = 0;
  for (uint64_t key = 0; key < 500; ++key) {
    std::vector<Solid> car;
    AddCar(LocalFrame(), Label::kParkedCar, Random(key), car);
    for (const Solid& solid : car) EXPECT_EQ(solid.material, car.front().material);
    dark += car.front().material == Material::kDarkPaint ? 1 : 0;
  }
  EXPECT_NEAR(dark, 150, 35);
  TownOptions options;
  options.size_m = 100.0;
  size_t glass = 0;
  const World town = *BuildTown(options);
  for (const Solid& solid : town.scene.solids()) {
    if (solid.material != Material::kGlass) continue;
    EXPECT_EQ(solid.label, Label::kBuilding);
    ++glass;
  }
  EXPECT_GT(glass, 3U);
}

TEST(ReturnModelTest, AbsurdOptionsAreRefusedByName) {
  const std::vector<std::pair<void (*)(ReturnOptions&), const char*>> cases = {
      {[](ReturnOptions& o) { o.range_noise_per_m = -1.0; }, "range noise growth"},
      {[](ReturnOptions& o) { o.range_bias_m = std::nan(""); }, "range bias"},
      {[](ReturnOptions& o) { o.beam_divergence_deg = 3.0; }, "beam divergence"},
      {[](ReturnOptions& o) { o.glass_dropout = 1.1; }, "glass dropout"},
      {[](ReturnOptions& o) { o.dark_car_dropout = -0.1; }, "dark car dropout"},
      {[](ReturnOptions& o) { o.incidence_dropout = 2.0; }, "incidence dropout"},
      {[](ReturnOptions& o) { o.wet_ground_dropout = 2.0; }, "wet ground dropout"}};
  for (const auto& [spoil, name] : cases) {
    ReturnOptions options;
    spoil(options);
    const absl::Status status = Validate(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(name), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace voxloc::sim
