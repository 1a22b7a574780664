// SPDX-License-Identifier: Apache-2.0

#include "server/capture/sensor_cloud.h"

#include "server/convert/pose.h"
#include "server/convert/scan.h"

namespace voxloc::server {

void SensorCloudToProto(const PointCloud& points_base, const Eigen::Vector3d& sensor_position_base,
                        v1::SensorCloud& proto) {
  EncodeCloud(points_base, *proto.mutable_cloud());
  const Eigen::Vector3d origin_sensor = points_base.origin - sensor_position_base;
  VectorToProto(origin_sensor, *proto.mutable_cloud()->mutable_origin());
  Pose base_T_sensor;
  base_T_sensor.translation = sensor_position_base;
  PoseToProto(base_T_sensor, *proto.mutable_base_t_sensor());
}

}  // namespace voxloc::server
