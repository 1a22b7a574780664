// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/search_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/cloud/ground.h"
#include "core/container/flat_table.h"
#include "core/map/lattice.h"

namespace voxloc {
namespace {

// The ground is the lowest there is within three tiles of this size.
constexpr double kGroundTile_m = 4.0;
constexpr double kClearance_m = 1.0;

// The middle of the points in each voxel, in the order in which voxels were first met.
std::vector<Eigen::Vector3d> Thin(const PointCloud& scan, double reach_m, double voxel_m) {
  struct Sum {
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    double count = 0.0;
  };
  FlatTable<CellKey, size_t> place;
  std::vector<Sum> sums;
  for (size_t i = 0; i < scan.size(); ++i) {
    if (!scan.IsFinite(i)) continue;
    const Eigen::Vector3d point = scan.Point(i);
    if (point.head<2>().norm() > reach_m || std::abs(point.z()) > 2.0 * reach_m) continue;
    const CellKey voxel = CellOf(point, voxel_m);
    const size_t* const known = place.Find(voxel);
    if (known == nullptr) {
      place.Insert(voxel, sums.size());
      sums.emplace_back();
    }
    Sum& sum = known == nullptr ? sums.back() : sums[*known];
    sum.sum += point;
    sum.count += 1.0;
  }
  std::vector<Eigen::Vector3d> points;
  points.reserve(sums.size());
  for (const Sum& sum : sums) points.emplace_back(sum.sum / sum.count);
  return points;
}

// Whether each point stands clear of what is lowest around it.
std::vector<bool> ClearOfGround(const std::vector<Eigen::Vector3d>& points) {
  LowestNearby lowest(kGroundTile_m);
  for (const Eigen::Vector3d& point : points) lowest.Add(point);
  std::vector<bool> clear;
  clear.reserve(points.size());
  for (const Eigen::Vector3d& point : points) {
    clear.push_back(point.z() > lowest.At(point) + kClearance_m);
  }
  return clear;
}

// Farthest first: each next point is the one farthest from all before it, beginning with the
// farthest from the sensor.
std::vector<Eigen::Vector3d> FarthestFirst(const std::vector<Eigen::Vector3d>& from, size_t count) {
  std::vector<Eigen::Vector3d> chosen;
  std::vector<double> distance(from.size(), std::numeric_limits<double>::infinity());
  Eigen::Vector3d last = Eigen::Vector3d::Zero();
  bool first = true;
  while (chosen.size() < std::min(count, from.size())) {
    size_t next = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      distance[i] = std::min(distance[i], (from[i] - last).squaredNorm());
      if (distance[i] > distance[next]) next = i;
    }
    // The sensor is no point.
    if (first) std::fill(distance.begin(), distance.end(), std::numeric_limits<double>::infinity());
    first = false;
    last = from[next];
    chosen.push_back(last);
  }
  return chosen;
}

int32_t ToVoxel(double metres, double voxel_m) {
  return static_cast<int32_t>(std::floor(metres / voxel_m + 0.5));
}

}  // namespace

std::vector<Eigen::Vector3d> ChooseSearchPoints(const PointCloud& scan,
                                                const SearchPointOptions& options) {
  const std::vector<Eigen::Vector3d> thin = Thin(scan, options.reach_m, options.voxel_m);
  const std::vector<bool> clear = ClearOfGround(thin);
  std::vector<Eigen::Vector3d> ground;
  std::vector<Eigen::Vector3d> above;
  for (size_t i = 0; i < thin.size(); ++i) (clear[i] ? above : ground).push_back(thin[i]);
  const auto ground_wanted =
      static_cast<size_t>(options.ground_share * static_cast<double>(options.points));
  // What one kind lacks, the other makes up for.
  const size_t above_count =
      std::min(above.size(),
               options.points - std::min(ground.size(), std::min(options.points, ground_wanted)));
  const std::vector<Eigen::Vector3d> chosen_above = FarthestFirst(above, above_count);
  const std::vector<Eigen::Vector3d> chosen_ground =
      FarthestFirst(ground, options.points - chosen_above.size());
  // In step with each other.
  std::vector<Eigen::Vector3d> points;
  size_t a = 0;
  size_t g = 0;
  while (a < chosen_above.size() || g < chosen_ground.size()) {
    const bool take_above =
        g == chosen_ground.size() ||
        (a < chosen_above.size() && a * chosen_ground.size() <= g * chosen_above.size());
    points.push_back(take_above ? chosen_above[a++] : chosen_ground[g++]);
  }
  return points;
}

Headings SpreadHeadings(const std::vector<Eigen::Vector3d>& points, double voxel_m,
                        double middle_rad, double half_range_rad) {
  double farthest_m = voxel_m;
  for (const Eigen::Vector3d& point : points) {
    farthest_m = std::max(farthest_m, point.head<2>().norm());
  }
  Headings headings;
  const double range_rad = std::min(2.0 * half_range_rad, 2.0 * M_PI);
  headings.full_turn = half_range_rad >= M_PI;
  headings.count =
      std::max<size_t>(1, static_cast<size_t>(std::ceil(range_rad * farthest_m / voxel_m)));
  headings.step_rad = range_rad / static_cast<double>(headings.count);
  headings.first_rad = middle_rad - 0.5 * range_rad + 0.5 * headings.step_rad;
  return headings;
}

std::shared_ptr<const BoundScan> RotatePoints(const std::vector<Eigen::Vector3d>& points,
                                              const Headings& headings, double voxel_m,
                                              double max_tilt_rad,
                                              const std::vector<int>& tolerances) {
  auto scan = std::make_shared<BoundScan>();
  scan->points_per_heading = points.size();
  scan->points.reserve(points.size() * headings.count);
  std::vector<uint16_t> classes;
  for (const Eigen::Vector3d& point : points) {
    // Half a voxel is within the point's own.
    const double lifted = point.head<2>().norm() * std::tan(max_tilt_rad) / voxel_m - 0.5;
    const auto it = std::lower_bound(tolerances.begin(), tolerances.end() - 1, lifted);
    classes.push_back(static_cast<uint16_t>(it - tolerances.begin()));
  }
  for (size_t h = 0; h < headings.count; ++h) {
    const double cosine = std::cos(headings.At(h));
    const double sine = std::sin(headings.At(h));
    for (size_t i = 0; i < points.size(); ++i) {
      const Eigen::Vector3d& p = points[i];
      scan->points.push_back({static_cast<int16_t>(ToVoxel(cosine * p.x() - sine * p.y(), voxel_m)),
                              static_cast<int16_t>(ToVoxel(sine * p.x() + cosine * p.y(), voxel_m)),
                              static_cast<int16_t>(ToVoxel(p.z(), voxel_m)), classes[i]});
    }
  }
  return scan;
}

}  // namespace voxloc
