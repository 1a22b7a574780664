// SPDX-License-Identifier: Apache-2.0
//
// Points in the base frame as a cloud around the sensor that saw them. Pure.

#ifndef VOXLOC_SERVER_CAPTURE_SENSOR_CLOUD_H_
#define VOXLOC_SERVER_CAPTURE_SENSOR_CLOUD_H_

#include <Eigen/Core>

#include "core/cloud/point_cloud.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// The sensor's place is kept as a mount without rotation, and the points lie around it, so that the
// mount brings them back: to the last bit where the cloud's origin is zero.
void SensorCloudToProto(const PointCloud& points_base, const Eigen::Vector3d& sensor_position_base,
                        v1::SensorCloud& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_SENSOR_CLOUD_H_
