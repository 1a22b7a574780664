// SPDX-License-Identifier: Apache-2.0

#include "tests/support/seams.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace voxloc {
namespace {

constexpr double kReachM = 2.0;
constexpr double kMaxGapM = 1.0;
constexpr double kMinSharedM = 2.0;
// A plane: its points lie within this across it, and are spread along it in both directions.
constexpr double kFlatM = 0.03;
constexpr double kWideM = 0.3;
constexpr size_t kMinPoints = 30;
constexpr double kMaxTurnCosine = 0.996;  // 5 degrees
// The normal lies along the border, or upright.
constexpr double kMaxAcross = 0.5;

struct Side {
  size_t count = 0;
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  Eigen::Matrix3d products = Eigen::Matrix3d::Zero();

  [[nodiscard]] Eigen::Vector3d mean() const { return sum / static_cast<double>(count); }
  // Zero: no plane.
  [[nodiscard]] Eigen::Vector3d Normal() const {
    if (count < kMinPoints) return Eigen::Vector3d::Zero();
    const Eigen::Matrix3d covariance =
        products / static_cast<double>(count) - mean() * mean().transpose();
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(covariance);
    const Eigen::Vector3d spread = eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt();
    if (spread[0] > kFlatM || spread[1] < kWideM) return Eigen::Vector3d::Zero();
    return eigen.eigenvectors().col(0);
  }
};

using Patches = std::map<std::pair<int, int>, Side>;

// Of the points within reach of the border, by their places along it and in height.
Patches PatchesOf(const PointCloud& cloud, int axis, double border_m) {
  Patches patches;
  for (size_t i = 0; i < cloud.size(); ++i) {
    const Eigen::Vector3d point = cloud.Point(i);
    if (!(std::abs(point[axis] - border_m) < kReachM)) continue;
    Side& side = patches[{static_cast<int>(std::floor(point[1 - axis] / kReachM)),
                          static_cast<int>(std::floor(point.z() / kReachM))}];
    // From a point of the border, for the digits.
    Eigen::Vector3d offset = point;
    offset[axis] -= border_m;
    ++side.count;
    side.sum += offset;
    side.products += offset * offset.transpose();
  }
  return patches;
}

}  // namespace

std::vector<double> SeamOffsets(const PointCloud& a_map, const PointCloud& b_map) {
  const Bounds a = ComputeBounds(a_map);
  const Bounds b = ComputeBounds(b_map);
  std::vector<double> offsets;
  if (a.finite_points == 0 || b.finite_points == 0) return offsets;
  for (const int axis : {0, 1}) {
    const double shared_m =
        std::min(a.max[1 - axis], b.max[1 - axis]) - std::max(a.min[1 - axis], b.min[1 - axis]);
    if (shared_m < kMinSharedM) continue;
    double border_m = 0.0;
    if (std::abs(a.min[axis] - b.max[axis]) < kMaxGapM) {
      border_m = 0.5 * (a.min[axis] + b.max[axis]);
    } else if (std::abs(a.max[axis] - b.min[axis]) < kMaxGapM) {
      border_m = 0.5 * (a.max[axis] + b.min[axis]);
    } else {
      continue;
    }
    const Patches of_a = PatchesOf(a_map, axis, border_m);
    for (const auto& [place, of_b] : PatchesOf(b_map, axis, border_m)) {
      const auto found = of_a.find(place);
      if (found == of_a.end()) continue;
      const Eigen::Vector3d normal_a = found->second.Normal();
      const Eigen::Vector3d normal_b = of_b.Normal();
      const double cosine = normal_a.dot(normal_b);
      if (!(std::abs(cosine) > kMaxTurnCosine)) continue;
      const Eigen::Vector3d normal =
          (normal_a + std::copysign(1.0, cosine) * normal_b).normalized();
      if (std::abs(normal[axis]) > kMaxAcross) continue;
      offsets.push_back(std::abs(normal.dot(found->second.mean() - of_b.mean())));
    }
  }
  return offsets;
}

}  // namespace voxloc
