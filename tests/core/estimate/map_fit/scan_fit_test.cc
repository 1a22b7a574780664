// SPDX-License-Identifier: Apache-2.0
//
// What a scan shows of a street with a wall beside it. The wall stands at x = 10.2 from y = -8 to 8
// and from the ground to 6 m above it; the sensor is 1.9 m above the ground at x = y = 0.

#include "core/estimate/map_fit/scan_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr double kWallM = 10.2;
constexpr double kHalfWallM = 8.0;
constexpr double kWallTopM = 6.0;
constexpr double kSensorM = 1.9;

CellStatistics Sharp() {
  CellStatistics statistics;
  statistics.cell_size_m = 0.5;
  statistics.gaussian.eigenvalue_ratio = 0.003;
  return statistics;
}

struct FitCounts {
  size_t explained = 0;
  size_t unexplained = 0;
  size_t confirmed = 0;
  size_t seen_through = 0;
};

FitCounts CountOf(const std::vector<FitObservation>& observations,
                  const std::function<bool(const FitObservation&)>& wanted) {
  const auto count = [&](FitKind kind) {
    return static_cast<size_t>(std::count_if(
        observations.begin(), observations.end(),
        [&](const FitObservation& seen) { return seen.kind == kind && wanted(seen); }));
  };
  return {count(FitKind::kExplained), count(FitKind::kUnexplained), count(FitKind::kConfirmed),
          count(FitKind::kSeenThrough)};
}

class ScanFit : public EngineTest {
 protected:
  // The street's own zero in the map.
  Eigen::Vector3d origin_map_ = Eigen::Vector3d::Zero();
  // Of the vehicle in the street.
  Pose street_T_base_;
  Eigen::Vector3d sensor_street_{0.0, 0.0, kSensorM};
  std::shared_ptr<const ResidentMap> map_;

  void SetUp() override { map_ = Street(); }

  std::shared_ptr<const ResidentMap> Street() {
    RandomNumbers random(1);
    PointCloud cloud;
    cloud.origin = origin_map_;
    const auto noise = [&] { return 0.01 * random.Normal(); };
    const auto add = [&](double x, double y, double z) {
      cloud.PushBack(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
    };
    for (double y = -kHalfWallM; y <= kHalfWallM; y += 0.08) {
      for (double z = 0.0; z <= kWallTopM; z += 0.08) add(kWallM + noise(), y, z);
    }
    for (double x = -12.0; x <= kWallM; x += 0.08) {
      for (double y = -12.0; y <= 12.0; y += 0.08) add(x, y, noise());
    }
    return LoadMap(engine(), {cloud}, {Sharp()});
  }

  // Rays to a grid of points at this x, as wide and as high as the wall.
  static std::vector<Eigen::Vector3d> GridAt(double x, double step_m = 0.15) {
    std::vector<Eigen::Vector3d> points;
    for (double y = -5.0; y <= 5.0; y += step_m) {
      for (double z = 0.3; z <= kWallTopM - 0.3; z += step_m) points.emplace_back(x, y, z);
    }
    return points;
  }

  std::vector<FitObservation> Observe(const std::vector<Eigen::Vector3d>& points_street) const {
    PointCloud cloud;
    const Pose base_T_street = street_T_base_.Inverse();
    for (const Eigen::Vector3d& point : points_street) {
      const Eigen::Vector3f base = (base_T_street * point).cast<float>();
      cloud.PushBack(base.x(), base.y(), base.z());
    }
    return ObserveCloud(cloud);
  }

  std::vector<FitObservation> ObserveCloud(const PointCloud& cloud_base) const {
    ScanFitRequest request;
    request.map = map_.get();
    request.points_base = &cloud_base;
    const Pose base_T_street = street_T_base_.Inverse();
    request.sensor_position_base = base_T_street * sensor_street_;
    request.map_T_base = Pose{origin_map_, Eigen::Quaterniond::Identity()} * street_T_base_;
    auto observations = ObserveFit(request);
    EXPECT_TRUE(observations.ok()) << observations.status();
    if (!observations.ok()) return {};
    for (FitObservation& observation : *observations) observation.place_map -= origin_map_;
    return *std::move(observations);
  }

  static FitCounts OfWall(const std::vector<FitObservation>& observations) {
    return CountOf(observations, [](const FitObservation& observation) {
      return std::abs(observation.place_map.x() - kWallM) < 0.3 && observation.place_map.z() > 0.25;
    });
  }
  static FitCounts OfAll(const std::vector<FitObservation>& observations) {
    return CountOf(observations, [](const FitObservation& /*observation*/) { return true; });
  }
};

VOXLOC_INSTANTIATE_ON_ENGINES(ScanFit);

TEST_P(ScanFit, AWallThatIsThereIsConfirmedAndExplainsItsPoints) {
  const auto points = GridAt(kWallM);
  const FitCounts counts = OfAll(Observe(points));
  EXPECT_EQ(counts.explained, points.size());
  EXPECT_EQ(counts.unexplained, 0U);
  // 10 m x 5.4 m in cells of 0.5 m, of which the rays meet a part at less than 60 degrees.
  EXPECT_GT(counts.confirmed, 150U);
  EXPECT_LT(counts.confirmed, 300U);
  EXPECT_EQ(counts.seen_through, 0U);
}

TEST_P(ScanFit, ExplainedPointsTellHowFarTheyAreFromTheWall) {
  for (const FitObservation& observation : Observe(GridAt(kWallM + 0.1))) {
    if (observation.kind != FitKind::kExplained || observation.place_map.z() < 0.6) continue;
    EXPECT_NEAR(observation.distance_m, 0.1F, 0.02F);
  }
}

TEST_P(ScanFit, AWallThatIsGoneIsSeenThrough) {
  const auto points = GridAt(18.0);
  const auto observations = Observe(points);
  const FitCounts wall = OfWall(observations);
  // The rays cross 5.7 m x 3.1 m of it: 69 cells, and parts of those around them.
  EXPECT_GT(wall.seen_through, 60U);
  EXPECT_LT(wall.seen_through, 100U);
  EXPECT_EQ(wall.confirmed, 0U);
  // What is behind it is not in the map. Some of it lies beyond the range that is looked at.
  EXPECT_GT(OfAll(observations).unexplained, points.size() / 2);
  EXPECT_EQ(OfAll(observations).explained, 0U);
}

TEST_P(ScanFit, AWallThatHasMovedBackIsSeenThroughOnceThePoseCannotExplainIt) {
  EXPECT_EQ(OfWall(Observe(GridAt(kWallM + 0.15))).seen_through, 0U);
  EXPECT_GT(OfWall(Observe(GridAt(kWallM + 0.6))).seen_through, 150U);
}

TEST_P(ScanFit, WhatStandsInFrontOfAWallSaysNothingOfTheWall) {
  const auto points = GridAt(6.0);
  const auto observations = Observe(points);
  EXPECT_EQ(OfWall(observations).confirmed, 0U);
  EXPECT_EQ(OfWall(observations).seen_through, 0U);
  EXPECT_GT(OfAll(observations).unexplained, 9 * points.size() / 10);
}

TEST_P(ScanFit, RaysThatGrazeOrPassAWallOrTheGroundSayNothing) {
  sensor_street_.x() = 9.4;
  std::vector<Eigen::Vector3d> rays;
  // Beside the wall, from 0.8 m before it to 0.6 m behind it at its far end; and over the ground.
  for (double z = 1.0; z <= 3.0; z += 0.05) rays.emplace_back(kWallM + 0.6, 7.9, z);
  for (double x = -9.0; x <= 9.0; x += 0.1) rays.emplace_back(x, 11.5, -0.4);
  EXPECT_EQ(OfAll(Observe(rays)).seen_through, 0U);

  // Past the end of the wall.
  sensor_street_.x() = 0.0;
  rays.clear();
  for (double z = 0.5; z <= 5.0; z += 0.05) rays.emplace_back(15.0, 12.4, z);
  EXPECT_EQ(OfAll(Observe(rays)).seen_through, 0U);
}

TEST_P(ScanFit, TwoRaysAreEnoughButAPointInACellOutweighsThem) {
  std::vector<Eigen::Vector3d> points = {{16.0, 0.4, 1.9}};
  EXPECT_EQ(OfAll(Observe(points)).seen_through, 0U);
  points.emplace_back(16.0, 0.45, 1.9);
  EXPECT_EQ(OfAll(Observe(points)).seen_through, 1U);
  points.emplace_back(kWallM, 0.25, 1.9);
  const FitCounts counts = OfAll(Observe(points));
  EXPECT_EQ(counts.seen_through, 0U);
  EXPECT_EQ(counts.confirmed, 1U);
}

TEST_P(ScanFit, OnlyWhatStandsHigherThanCarsIsRaised) {
  for (const FitObservation& observation : Observe(GridAt(kWallM))) {
    const double height_m = observation.place_map.z();
    if (std::abs(height_m - 2.5) > 0.1) {
      EXPECT_EQ(observation.raised, height_m > 2.5) << height_m;
    }
  }
}

TEST_P(ScanFit, IsTheSameFarFromTheMapsZeroAndForATurnedVehicle) {
  const FitCounts here = OfAll(Observe(GridAt(18.0)));
  // A multiple of the cells, so that the lattice cuts the wall alike.
  origin_map_ = {400'000.0, 4'000'000.0, 100.0};
  map_ = Street();
  const FitCounts there = OfAll(Observe(GridAt(18.0)));
  EXPECT_EQ(there.seen_through, here.seen_through);
  EXPECT_EQ(there.unexplained, here.unexplained);
  street_T_base_.rotation =
      Eigen::AngleAxisd(150.0 * kRadiansPerDegree, Eigen::Vector3d(0.05, 0.03, 1.0).normalized());
  street_T_base_.translation = {0.3, -0.2, 0.1};
  const FitCounts turned = OfAll(Observe(GridAt(18.0)));
  EXPECT_NEAR(static_cast<double>(turned.seen_through), static_cast<double>(here.seen_through),
              3.0);
  EXPECT_NEAR(static_cast<double>(turned.unexplained), static_cast<double>(here.unexplained), 3.0);
}

// Against every cell and every ray, in double: a ray that clearly passes a cell must count, and one
// that clearly does not must not.
TEST_P(ScanFit, TheCellsThatRaysPassAreThoseOfAllCellsThatTheyCross) {
  const auto points = GridAt(18.0, 0.3);
  const auto observations = Observe(points);
  const Eigen::Vector3d sensor(0.0, 0.0, kSensorM);
  const Eigen::Vector3d all(50.0, 50.0, 50.0);
  const auto cells = map_->CellsInBox(0, -all, all, 1'000'000);
  ASSERT_TRUE(cells.ok());
  size_t clear = 0;
  for (const MapCell& cell : *cells) {
    // Cells of the wall alone.
    if (std::abs(cell.mean.x() - kWallM) > 0.05 || cell.mean.z() < 0.6) continue;
    size_t near_rays = 0;
    size_t all_rays = 0;
    for (const Eigen::Vector3d& point : points) {
      const Eigen::Vector3d ray = point - sensor;
      const double share = (cell.mean.x() - sensor.x()) / ray.x();
      const Eigen::Vector3d beside = sensor + share * ray - cell.mean;
      const double cosine = ray.x() / ray.norm();
      if (cosine > 0.52 && beside.norm() < 0.12) ++near_rays;
      if (cosine > 0.48 && beside.norm() < 0.45) ++all_rays;
    }
    const bool seen = std::any_of(observations.begin(), observations.end(),
                                  [&](const FitObservation& observation) {
                                    return observation.kind == FitKind::kSeenThrough &&
                                           (observation.place_map - cell.mean).norm() < 1e-3;
                                  });
    if (near_rays >= 2) {
      EXPECT_TRUE(seen) << cell.mean.transpose();
      ++clear;
    }
    if (all_rays < 2) {
      EXPECT_FALSE(seen) << cell.mean.transpose();
    }
  }
  EXPECT_GT(clear, 20U);
}

TEST_P(ScanFit, PointsThatAreNotFiniteAndEmptyScansShowNothing) {
  PointCloud cloud;
  EXPECT_TRUE(ObserveCloud(cloud).empty());
  cloud.PushBack(NAN, 0.0F, 0.0F);
  cloud.PushBack(INFINITY, 0.0F, 0.0F);
  cloud.PushBack(0.0F, 0.0F, static_cast<float>(kSensorM));  // in the sensor itself
  EXPECT_TRUE(ObserveCloud(cloud).empty());
}

TEST_P(ScanFit, WhereTheMapHasNothingAllPointsAreUnexplained) {
  PointCloud cloud;
  for (int i = 0; i < 100; ++i) cloud.PushBack(10.0F, 0.1F * static_cast<float>(i), 1.0F);
  origin_map_.x() = 500.0;
  const FitCounts counts = OfAll(ObserveCloud(cloud));
  EXPECT_EQ(counts.unexplained, 100U);
  EXPECT_EQ(counts.explained + counts.confirmed + counts.seen_through, 0U);
}

TEST_P(ScanFit, OfAScanOfManyPointsAnEvenChoiceIsLookedAt) {
  const auto points = GridAt(kWallM, 0.04);
  ASSERT_GT(points.size(), 30'000U);
  const FitCounts counts = OfAll(Observe(points));
  EXPECT_EQ(counts.explained, 4096U);
  EXPECT_GT(counts.confirmed, 150U);
}

}  // namespace
}  // namespace voxloc
