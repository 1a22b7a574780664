// SPDX-License-Identifier: Apache-2.0
//
// Clouds of the server as PointCloud2. Pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_OUTPUT_CLOUDS_H_
#define VOXLOC_CLIENTS_ROS_CORE_OUTPUT_CLOUDS_H_

#include "absl/status/statusor.h"
#include "clients/ros/core/messages.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::ros {

// x, y, z as float32, 12 bytes a point, with the cloud's origin added.
[[nodiscard]] PointCloud2 XyzCloud(const Header& header, const PointCloud& cloud);

// The same from a message. InvalidArgument: see client::DecodePoints.
[[nodiscard]] absl::StatusOr<PointCloud2> XyzCloud(const Header& header, const v1::Cloud& cloud);

// The matched points with the colours of their scores: x, y, z, rgb (as pcl packs it into a
// float32: 0x00RRGGBB), 16 bytes a point. InvalidArgument: as many colours and scores as points are
// needed.
[[nodiscard]] absl::StatusOr<PointCloud2> ScoreCloud(const Header& header, const v1::Cloud& cloud,
                                                     const v1::PointScores& scores);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_OUTPUT_CLOUDS_H_
