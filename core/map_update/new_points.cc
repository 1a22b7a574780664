// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/new_points.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// A plane within three cubes: its points spread across it by less than kFlatM and along it by more
// than kWideShare of an edge, where a square filled evenly has 0.87.
constexpr double kFlatM = 0.04;
constexpr double kWideShare = 0.4;
constexpr size_t kMinPlanePoints = 10;

}  // namespace

NewPoints::NewPoints(double cube_m, absl::Span<const CellKey> cubes) : cube_m_(cube_m) {
  cubes_.reserve(cubes.size());
  for (const CellKey& key : cubes) {
    places_.Insert(key, static_cast<uint32_t>(cubes_.size()));
    cubes_.emplace_back().key = key;
  }
}

void NewPoints::Add(absl::Span<const Eigen::Vector3d> points_map) {
  for (const Eigen::Vector3d& point : points_map) {
    const uint32_t* place = places_.Find(CellOf(point, cube_m_));
    if (place == nullptr) continue;
    Cube& cube = cubes_[*place];
    const Eigen::Vector3f offset = (point - CellCentre(cube.key, cube_m_)).cast<float>();
    cube.sum += offset;
    cube.products += offset * offset.transpose();
    // The n-th point replaces one with a chance of kKept / n, drawn from a hash of n.
    const size_t n = ++cube.count;
    const size_t drawn = n <= kKept ? n - 1 : (n * size_t{0x9E3779B97F4A7C15U} >> 33U) % n;
    if (drawn < kKept) cube.kept[drawn] = offset;
  }
}

Eigen::Vector3d NewPoints::OntoPlane(const CellKey& key, const Eigen::Vector3d& point) const {
  const Eigen::Vector3d centre = CellCentre(key, cube_m_);
  double count = 0.0;
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  Eigen::Matrix3d products = Eigen::Matrix3d::Zero();
  for (int32_t z = -1; z <= 1; ++z) {
    for (int32_t y = -1; y <= 1; ++y) {
      for (int32_t x = -1; x <= 1; ++x) {
        const uint32_t* place = places_.Find({key.x + x, key.y + y, key.z + z});
        if (place == nullptr) continue;
        const Cube& cube = cubes_[*place];
        const auto n = static_cast<double>(cube.count);
        const Eigen::Vector3d shift = Eigen::Vector3d(x, y, z) * cube_m_;
        const Eigen::Vector3d own = cube.sum.cast<double>();
        products += cube.products.cast<double>() + own * shift.transpose() +
                    shift * own.transpose() + n * shift * shift.transpose();
        sum += own + n * shift;
        count += n;
      }
    }
  }
  if (count < static_cast<double>(kMinPlanePoints)) return point;
  const Eigen::Vector3d mean = sum / count;
  const Eigen::Matrix3d covariance = products / count - mean * mean.transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(covariance);
  const Eigen::Vector3d spread = eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt();
  if (!(spread[0] < kFlatM) || !(spread[1] > kWideShare * cube_m_)) return point;
  const Eigen::Vector3d normal = eigen.eigenvectors().col(0);
  return point - normal * normal.dot(point - centre - mean);
}

std::vector<Eigen::Vector3d> NewPoints::Thin(absl::Span<const size_t> chosen,
                                             double spacing_m) const {
  std::vector<Eigen::Vector3d> points;
  FlatTable<CellKey, uint8_t> taken;
  for (const size_t number : chosen) {
    const Cube& cube = cubes_[number];
    for (size_t i = 0; i < std::min(cube.count, kKept); ++i) {
      const Eigen::Vector3d point =
          OntoPlane(cube.key, CellCentre(cube.key, cube_m_) + cube.kept[i].cast<double>());
      const CellKey voxel = CellOf(point, spacing_m);
      if (taken.Find(voxel) != nullptr) continue;
      taken.Insert(voxel, 1);
      points.push_back(point);
    }
  }
  return points;
}

double SpacingOf(const PointCloud& cloud_map) {
  constexpr double kSampleM = 0.5;
  constexpr double kMinSpacingM = 0.02;
  FlatTable<CellKey, uint32_t> places;
  std::vector<uint32_t> counts;
  for (size_t i = 0; i < cloud_map.size(); ++i) {
    if (!cloud_map.IsFinite(i)) continue;
    const CellKey key = CellOf(cloud_map.Point(i), kSampleM);
    if (places.Find(key) == nullptr) {
      places.Insert(key, static_cast<uint32_t>(counts.size()));
      counts.push_back(0);
    }
    ++counts[*places.Find(key)];
  }
  if (counts.empty()) return kMinSpacingM;
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  return std::max(kMinSpacingM, kSampleM / std::sqrt(static_cast<double>(*middle)));
}

}  // namespace voxloc
