// SPDX-License-Identifier: Apache-2.0
//
// Both transforms of points, against products and sums of long double.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "tests/cuda/align/locate_in_kernel.h"
#include "tests/cuda/on_device.h"
#include "tests/support/random_numbers.h"

namespace voxloc::cuda {
namespace {

constexpr double kCellSizes_m[] = {2.0, 1.0, 0.5, 0.3, 1.7};

class PointTransformTest : public OnDevice {
 protected:
  std::vector<BothPlaces> Locate(const std::vector<PointOnLattice>& points) {
    auto located = LocateInKernel(device_, points);
    EXPECT_TRUE(located.ok()) << located.status();
    return located.ok() ? *std::move(located) : std::vector<BothPlaces>(points.size());
  }
};

PointOnLattice Make(const Eigen::Matrix3d& map_R_base, const Eigen::Vector3d& map_t_base,
                    const Eigen::Vector3d& point, double cell_size_m) {
  PointOnLattice made{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) made.rotation[i][j] = map_R_base(i, j);
    made.translation[i] = map_t_base[i];
    made.point[i] = static_cast<float>(point[i]);
  }
  made.cell_size_m = cell_size_m;
  return made;
}

// Points up to `range_m` from a sensor up to `extent_m` from the map's origin.
std::vector<PointOnLattice> RandomPoints(double extent_m, double range_m, uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<PointOnLattice> points;
  for (int i = 0; i < 20000; ++i) {
    const Eigen::Matrix3d rotation = random.Orthogonal<3>();
    const Eigen::Vector3d translation = random.InBox(extent_m);
    points.push_back(Make(rotation, translation, random.InBox(range_m),
                          kCellSizes_m[random.Index(std::size(kCellSizes_m))]));
  }
  return points;
}

// The coordinate in the map, m. With the reference's transform, to the roundings of float.
long double Coordinate(const PointOnLattice& of, int axis) {
  if (of.float_transform) {
    float sum = of.point[0] * static_cast<float>(of.rotation[axis][0]);
    sum += of.point[1] * static_cast<float>(of.rotation[axis][1]);
    sum += of.point[2] * static_cast<float>(of.rotation[axis][2]);
    return sum + static_cast<float>(of.translation[axis]);
  }
  long double sum = of.translation[axis];
  for (int i = 0; i < 3; ++i) {
    sum += static_cast<long double>(of.rotation[axis][i]) * static_cast<long double>(of.point[i]);
  }
  return sum;
}

// How far the place lies from where the point is, m.
double ErrorOf(const PlaceInCell& place, const PointOnLattice& of, int axis) {
  const long double found =
      static_cast<long double>(place.cell[axis]) * static_cast<long double>(of.cell_size_m) +
      static_cast<long double>(place.local[axis]);
  return static_cast<double>(found - Coordinate(of, axis));
}

// A place in the cell, rounded to float up to three times; `wrong_m` more for what came before.
void ExpectPlace(const PlaceInCell& place, const PointOnLattice& of, double wrong_m) {
  const double rounding_m = 1.5 * of.cell_size_m * std::numeric_limits<float>::epsilon();
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_LE(std::abs(ErrorOf(place, of, axis)), rounding_m + wrong_m) << "axis " << axis;
    EXPECT_GE(place.local[axis], 0.0F);
    EXPECT_LE(place.local[axis], static_cast<float>(of.cell_size_m));
  }
}

TEST_F(PointTransformTest, BothFindWherePointsLie) {
  const std::vector<PointOnLattice> points = RandomPoints(5e3, 120.0, 71);
  const std::vector<BothPlaces> located = Locate(points);
  size_t same_cell = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    ExpectPlace(located[i].in_double, points[i], 1e-11);
    ExpectPlace(located[i].in_float_pairs, points[i], 1e-10);
    for (int axis = 0; axis < 3; ++axis) {
      same_cell += located[i].in_double.cell[axis] == located[i].in_float_pairs.cell[axis] ? 1 : 0;
    }
  }
  // A coordinate lies within 1e-10 m of a border once in ten thousand million.
  EXPECT_EQ(same_cell, 3 * points.size());
}

TEST_F(PointTransformTest, TranslationsMayBeThoseOfASurvey) {
  const std::vector<PointOnLattice> points = RandomPoints(6.4e6, 120.0, 72);
  const std::vector<BothPlaces> located = Locate(points);
  for (size_t i = 0; i < points.size(); ++i) {
    ExpectPlace(located[i].in_double, points[i], 3e-9);
    ExpectPlace(located[i].in_float_pairs, points[i], 3e-9);
  }
}

TEST_F(PointTransformTest, TheReferencesTransformHasItsRoundings) {
  std::vector<PointOnLattice> points = RandomPoints(5e3, 120.0, 73);
  for (PointOnLattice& point : points) point.float_transform = true;
  const std::vector<BothPlaces> located = Locate(points);
  for (size_t i = 0; i < points.size(); ++i) {
    ExpectPlace(located[i].in_double, points[i], 1e-11);
    ExpectPlace(located[i].in_float_pairs, points[i], 1e-10);
  }
}

TEST_F(PointTransformTest, ABorderBelongsToTheCellAboveIt) {
  std::vector<PointOnLattice> points;
  for (int cell = -60; cell < 60; ++cell) {
    const Eigen::Vector3d corner = Eigen::Vector3d::Constant(2.0 * cell);
    points.push_back(Make(Eigen::Matrix3d::Identity(), {0.0, 1000.0, -400.0}, corner, 2.0));
  }
  const std::vector<BothPlaces> located = Locate(points);
  for (size_t i = 0; i < points.size(); ++i) {
    const int cell = static_cast<int>(i) - 60;
    for (const PlaceInCell& place : {located[i].in_double, located[i].in_float_pairs}) {
      EXPECT_EQ(place.cell[0], cell);
      EXPECT_EQ(place.cell[1], cell + 500);
      EXPECT_EQ(place.cell[2], cell - 200);
      for (const float local : place.local) EXPECT_EQ(local, 0.0F);
    }
  }
}

TEST_F(PointTransformTest, WhateverComesIsInSomeCell) {
  const double huge = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<PointOnLattice> points;
  for (const double value : {1e7, 1e12, 1e300, -1e300, huge, -huge, nan}) {
    for (const bool float_transform : {false, true}) {
      points.push_back(
          Make(Eigen::Matrix3d::Identity(), {value, -value, 1.0}, {1.0, 2.0, 3.0}, 2.0));
      points.back().float_transform = float_transform;
      points.push_back(
          Make(Eigen::Matrix3d::Identity(), {1.0, 2.0, 3.0}, {value, 1.0, -value}, 0.5));
      points.back().float_transform = float_transform;
    }
  }
  const std::vector<BothPlaces> located = Locate(points);
  for (const BothPlaces& both : located) {
    for (const PlaceInCell& place : {both.in_double, both.in_float_pairs}) {
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_GE(place.local[axis], 0.0F);
        EXPECT_LE(place.local[axis], 2.0F);
        // Far from both ends of int, so that neighbours have numbers too.
        EXPECT_LE(std::abs(static_cast<double>(place.cell[axis])), 3e8);
      }
    }
  }
}

}  // namespace
}  // namespace voxloc::cuda
