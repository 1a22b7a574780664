// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/map_changes.h"
#include "clients/sim/map_sampler.h"
#include "clients/sim/scenes.h"
#include "clients/sim/world.h"
#include "core/geometry/euler.h"
#include "tests/clients/sim/drive_clearance.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

constexpr double kSensorHeight_m = 1.9;

World Garage(uint64_t seed) {
  GarageOptions options;
  options.seed = seed;
  return *BuildGarage(options);
}

std::vector<DrivePose> DriveThroughGarage(const World& world, uint64_t seed) {
  DriveOptions options;
  options.seed = seed;
  options.scans = 240;
  options.rate_hz = 2.0;
  options.max_speed_mps = 4.0;
  options.sensor_height_m = kSensorHeight_m;
  return *PlanDrive(world, options);
}

double RiseOf(const World& world) {
  double rise_m = 0.0;
  for (const Street& street : world.streets.streets()) {
    rise_m = std::max(rise_m, street.to_elevation_m);
  }
  return rise_m;
}

double Range(const RayCaster& caster, const Eigen::Vector3d& eye, const Eigen::Vector3d& towards) {
  return caster.Cast({eye, towards.normalized()}, 200.0).range_m;
}

TEST(GarageTest, DrivesUseBothStoreysAndTheRampsBetweenThem) {
  for (uint64_t seed = 101; seed < 113; ++seed) {
    const World world = Garage(seed);
    const double rise_m = RiseOf(world);
    EXPECT_GT(rise_m, 2.55);
    EXPECT_LT(rise_m, 2.85);
    int lower = 0;
    int upper = 0;
    int ramp = 0;
    for (const DrivePose& at : DriveThroughGarage(world, seed)) {
      const double floor_m = at.world_T_sensor.translation.z() - kSensorHeight_m;
      EXPECT_GT(floor_m, -0.05);
      EXPECT_LT(floor_m, rise_m + 0.05);
      ++(floor_m < 0.05 ? lower : floor_m > rise_m - 0.05 ? upper : ramp);
    }
    EXPECT_GT(lower, 40) << seed;
    EXPECT_GT(upper, 40) << seed;
    EXPECT_GT(ramp, 5) << seed;
  }
}

TEST(GarageTest, TheWheelsStandOnTheFloorOfEveryStoreyAndRamp) {
  const World world = Garage(7);
  const RayCaster caster(world.scene);
  double steepest = 0.0;
  for (const DrivePose& at : DriveThroughGarage(world, 1)) {
    for (const double x : {-1.35, 1.35}) {
      for (const double y : {-0.8, 0.8}) {
        const Eigen::Vector3d wheel = at.world_T_sensor * Eigen::Vector3d(x, y, -1.0);
        const Eigen::Vector3d down = at.world_T_sensor.rotation * -Eigen::Vector3d::UnitZ();
        EXPECT_NEAR(Range(caster, wheel, down), kSensorHeight_m - 1.0, 0.04);
      }
    }
    const Eigen::Vector3d ahead = at.world_T_sensor.rotation * Eigen::Vector3d::UnitX();
    steepest = std::max(steepest, std::abs(ahead.z()));
  }
  EXPECT_GT(steepest, 0.09);
  EXPECT_LT(steepest, 0.15);
}

TEST(GarageTest, CeilingsAreLow) {
  for (uint64_t seed = 101; seed < 105; ++seed) {
    const World world = Garage(seed);
    const RayCaster caster(world.scene);
    int level = 0;
    int ceilings = 0;
    for (const DrivePose& at : DriveThroughGarage(world, seed)) {
      const Eigen::Vector3d up = at.world_T_sensor.rotation * Eigen::Vector3d::UnitZ();
      if (up.z() < 1.0 - 1e-9) continue;
      ++level;
      const double headroom_m = kSensorHeight_m + Range(caster, at.world_T_sensor.translation, up);
      EXPECT_GT(headroom_m, 1.95);
      if (headroom_m > 2.34 && headroom_m < 2.51) ++ceilings;
    }
    EXPECT_GT(ceilings, level / 2) << seed;
  }
}

// The share of horizontal rays along the aisles that have the same range on both storeys.
double ShareOfEqualRays(const World& world) {
  const RayCaster caster(world.scene);
  const double rise_m = RiseOf(world);
  double same = 0.0;
  double all = 0.0;
  for (const Street& street : world.streets.streets()) {
    if (street.to_elevation_m > 0.0) continue;
    for (double along_m = street.clear_m; along_m < street.length_m - street.clear_m;
         along_m += 1.0) {
      const Eigen::Vector2d place = street.PointAt(along_m, 0.0);
      for (int i = 0; i < 72; ++i) {
        const double angle = 5.0 * i * kRadiansPerDegree;
        const Eigen::Vector3d direction(std::cos(angle), std::sin(angle), 0.0);
        const double lower = Range(caster, {place.x(), place.y(), 1.2}, direction);
        const double upper = Range(caster, {place.x(), place.y(), rise_m + 1.2}, direction);
        all += 1.0;
        if (std::abs(lower - upper) < 1e-6) same += 1.0;
      }
    }
  }
  return same / all;
}

TEST(GarageTest, StoreysAreAlikeAndTheirCarsAreNot) {
  for (uint64_t seed = 101; seed < 105; ++seed) {
    GarageOptions options;
    options.seed = seed;
    options.parked_car_density = 0.0;
    EXPECT_GT(ShareOfEqualRays(*BuildGarage(options)), 0.5) << seed;
    EXPECT_LT(ShareOfEqualRays(Garage(seed)), 0.4) << seed;
  }
}

TEST(GarageTest, TheMapHasFloorsAndCeilingsOfBothStoreys) {
  const World world = Garage(9);
  MapSamplingOptions options;
  options.spacing_m = 0.3;
  options.noise_m = 0.0;
  const PointCloud map = *SampleMap(world, options, 0);
  const double rise_m = RiseOf(world);
  int lower = 0;
  int upper = 0;
  int roof = 0;
  int lower_ceiling = 0;
  for (size_t i = 0; i < map.size(); ++i) {
    const double z = map.Point(i).z();
    if (std::abs(z) < 1e-3) ++lower;
    if (std::abs(z - rise_m) < 1e-3) ++upper;
    if (z > rise_m - 0.31 && z < rise_m - 0.24) ++lower_ceiling;
    if (z > rise_m + 2.34 && z < rise_m + 2.51) ++roof;
  }
  // 11 points a square metre of about 2,400 m^2, less what cars hide.
  for (const int count : {lower, upper, lower_ceiling, roof}) EXPECT_GT(count, 8000);
}

TEST(GarageTest, DrivesTouchNothing) {
  for (uint64_t seed = 101; seed < 107; ++seed) {
    GarageOptions options;
    options.seed = seed;
    options.parked_car_density = 1.0;
    const World world = *BuildGarage(options);
    EXPECT_GT(LeastClearance(world, DriveThroughGarage(world, seed)), 0.1) << seed;
  }
}

TEST(GarageTest, TrafficIsOnBothStoreys) {
  const World world = Garage(7);
  TrafficOptions options;
  options.cars_per_km = 60.0;
  const Traffic traffic(world, options);
  int lower = 0;
  int upper = 0;
  for (const Solid& solid : traffic.At(3.0, {1e4, 1e4, 0.0})) {
    EXPECT_GT(solid.center.z(), 0.0);
    ++(solid.center.z() < 2.3 ? lower : upper);
  }
  EXPECT_GT(lower, 5);
  EXPECT_GT(upper, 5);
}

TEST(GarageTest, AbsurdOptionsAreRefusedByName) {
  GarageOptions options;
  options.parked_car_density = 1.1;
  const absl::Status status = BuildGarage(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("parked car density"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace voxloc::sim
