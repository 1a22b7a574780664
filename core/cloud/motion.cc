// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/motion.h"

#include <array>
#include <cstddef>

#include "core/container/flat_table.h"

namespace voxloc {

void Deskew(const Twist& sensor_twist, const std::vector<float>& time_s, double offset_s,
            PointCloud& cloud) {
  if (time_s.empty()) {
    if (offset_s != 0.0) cloud = Transform(IntegrateTwist(sensor_twist, offset_s), cloud);
    return;
  }
  // Neighbours in a scan often share their time.
  float last_s = time_s.front();
  Pose reference_T_sensor = IntegrateTwist(sensor_twist, offset_s + static_cast<double>(last_s));
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (time_s[i] != last_s) {
      last_s = time_s[i];
      reference_T_sensor = IntegrateTwist(sensor_twist, offset_s + static_cast<double>(last_s));
    }
    const Eigen::Vector3f moved =
        (reference_T_sensor * cloud.Point(i) - cloud.origin).cast<float>();
    cloud.x[i] = moved.x();
    cloud.y[i] = moved.y();
    cloud.z[i] = moved.z();
  }
}

PointCloud AccumulateClouds(const PointCloud& newest, absl::Span<const PlacedCloud> earlier,
                            double voxel_leaf_m) {
  PointCloud joint = newest;
  joint.intensity.clear();
  size_t points = newest.size();
  for (const PlacedCloud& placed : earlier) points += placed.cloud->size();
  joint.Reserve(points);
  const bool thins = voxel_leaf_m > 0.0;
  FlatTable<std::array<double, 3>, bool> occupied;
  // False: the point's voxel had a point before. Indices are whole doubles, which no distance
  // overflows.
  const auto occupy = [&](const Eigen::Vector3d& point) {
    const Eigen::Vector3d index = (point / voxel_leaf_m).array().floor();
    const std::array<double, 3> voxel = {index.x(), index.y(), index.z()};
    if (occupied.Find(voxel) != nullptr) return false;
    occupied.Insert(voxel, true);
    return true;
  };
  if (thins) {
    for (size_t i = 0; i < newest.size(); ++i) {
      if (newest.IsFinite(i)) occupy(newest.Point(i));
    }
  }
  for (const PlacedCloud& placed : earlier) {
    const PointCloud& cloud = *placed.cloud;
    for (size_t i = 0; i < cloud.size(); ++i) {
      if (!cloud.IsFinite(i)) continue;
      const Eigen::Vector3d point = placed.target_T_cloud * cloud.Point(i);
      if (thins && !occupy(point)) continue;
      const Eigen::Vector3f offset = (point - joint.origin).cast<float>();
      joint.PushBack(offset.x(), offset.y(), offset.z());
    }
  }
  return joint;
}

}  // namespace voxloc
