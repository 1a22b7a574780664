// SPDX-License-Identifier: Apache-2.0
//
// Poses of a camera in the place of those of a LiDAR or a vehicle: KITTI's odometry gives those of
// its left camera, whose axes are x right, y down, z forward. A map made of them without more lies
// on its side.

#ifndef VOXLOC_CLIENTS_DATASET_CAMERA_POSES_H_
#define VOXLOC_CLIENTS_DATASET_CAMERA_POSES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/trajectory_file.h"
#include "core/geometry/pose.h"

namespace voxloc {

// camera_T_lidar of a KITTI calibration: `Tr:` of calib.txt (odometry), `Tr_velo_to_cam:` or
// `Tr_velo_cam` after R0_rect or R_rect (objects, tracking), or `R:` and `T:` of
// calib_velo_to_cam.txt (raw). InvalidArgument names the file and what is missing or malformed.
[[nodiscard]] absl::StatusOr<Pose> ReadKittiCalibration(const std::string& path);

// ReadTrajectory; with `calibration`, where not empty, the poses in the file are those of the
// camera, and what is returned are those of the LiDAR in the axes in which it was for the first
// camera pose that is the identity.
[[nodiscard]] absl::StatusOr<std::vector<StampedPose>> ReadPoses(const std::string& path,
                                                                 TrajectoryFormat format,
                                                                 const std::string& calibration);

// What is suspicious about poses that should be a vehicle's or a LiDAR's, for their user: they
// move along their own z axis, as a camera's do. nullopt: nothing, or they hardly move.
[[nodiscard]] std::optional<std::string> DoubtOnAxes(const std::vector<StampedPose>& poses);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_CAMERA_POSES_H_
