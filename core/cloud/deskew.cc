// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/deskew.h"

#include <cstddef>

namespace voxloc {

void Deskew(const Twist& sensor_twist, const std::vector<float>& time_s, double offset_s,
            PointCloud& cloud) {
  if (time_s.empty()) {
    if (offset_s != 0.0) cloud = Transform(MotionDuring(sensor_twist, offset_s), cloud);
    return;
  }
  // Neighbours in a scan often share their time.
  float last_s = time_s.front();
  Pose reference_T_sensor = MotionDuring(sensor_twist, offset_s + static_cast<double>(last_s));
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (time_s[i] != last_s) {
      last_s = time_s[i];
      reference_T_sensor = MotionDuring(sensor_twist, offset_s + static_cast<double>(last_s));
    }
    const Eigen::Vector3f moved =
        (reference_T_sensor * cloud.Point(i) - cloud.origin).cast<float>();
    cloud.x[i] = moved.x();
    cloud.y[i] = moved.y();
    cloud.z[i] = moved.z();
  }
}

}  // namespace voxloc
