// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/point_cloud.h"

#include <cmath>
#include <limits>

namespace voxloc {

void PointCloud::Reserve(size_t count) {
  x.reserve(count);
  y.reserve(count);
  z.reserve(count);
}

std::optional<Eigen::Vector3d> OriginFor(const Eigen::Vector3d& point) {
  constexpr double kFloatReach_m = 2048.0;
  constexpr double kReach_m = 1e8;
  if (!point.allFinite()) return std::nullopt;
  const double distance_m = point.cwiseAbs().maxCoeff();
  if (distance_m > kReach_m) return std::nullopt;
  if (distance_m <= kFloatReach_m) return Eigen::Vector3d::Zero();
  return point.array().round();
}

Bounds ComputeBounds(const PointCloud& cloud) {
  Bounds bounds;
  Eigen::Vector3f min = Eigen::Vector3f::Constant(std::numeric_limits<float>::infinity());
  Eigen::Vector3f max = -min;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3f offset = cloud.Offset(i);
    min = min.cwiseMin(offset);
    max = max.cwiseMax(offset);
    ++bounds.finite_points;
  }
  if (bounds.finite_points > 0) {
    bounds.min = cloud.origin + min.cast<double>();
    bounds.max = cloud.origin + max.cast<double>();
  }
  return bounds;
}

void Enlarge(const Bounds& by, Bounds& bounds) {
  if (by.finite_points == 0) return;
  if (bounds.finite_points == 0) {
    bounds = by;
    return;
  }
  bounds.min = bounds.min.cwiseMin(by.min);
  bounds.max = bounds.max.cwiseMax(by.max);
  bounds.finite_points += by.finite_points;
}

double RootMeanSquareRange(const PointCloud& cloud) {
  double sum = 0.0;
  size_t count = 0;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    // In this order, which StagePoints has too; Eigen's is the processor's choice.
    const Eigen::Vector3d point = cloud.Point(i);
    sum += point.x() * point.x() + (point.y() * point.y() + point.z() * point.z());
    ++count;
  }
  return count == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(count));
}

PointCloud Transform(const Pose& a_T_b, const PointCloud& cloud_b) {
  PointCloud cloud_a;
  cloud_a.origin = a_T_b * cloud_b.origin;
  cloud_a.intensity = cloud_b.intensity;
  const Eigen::Matrix3d a_R_b = a_T_b.rotation.toRotationMatrix();
  const size_t count = cloud_b.size();
  cloud_a.x.resize(count);
  cloud_a.y.resize(count);
  cloud_a.z.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const Eigen::Vector3f offset = (a_R_b * cloud_b.Offset(i).cast<double>()).cast<float>();
    cloud_a.x[i] = offset.x();
    cloud_a.y[i] = offset.y();
    cloud_a.z[i] = offset.z();
  }
  return cloud_a;
}

void Append(const PointCloud& more, PointCloud& cloud) {
  if (more.empty()) return;
  if (more.has_intensity() && (cloud.has_intensity() || cloud.empty())) {
    cloud.intensity.insert(cloud.intensity.end(), more.intensity.begin(), more.intensity.end());
  } else {
    cloud.intensity.clear();
  }
  if (more.origin == cloud.origin) {
    cloud.x.insert(cloud.x.end(), more.x.begin(), more.x.end());
    cloud.y.insert(cloud.y.end(), more.y.begin(), more.y.end());
    cloud.z.insert(cloud.z.end(), more.z.begin(), more.z.end());
    return;
  }
  const Eigen::Vector3d shift = more.origin - cloud.origin;
  for (size_t i = 0; i < more.size(); ++i) {
    const Eigen::Vector3f offset = (shift + more.Offset(i).cast<double>()).cast<float>();
    cloud.PushBack(offset.x(), offset.y(), offset.z());
  }
}

}  // namespace voxloc
