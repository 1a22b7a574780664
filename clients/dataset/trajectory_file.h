// SPDX-License-Identifier: Apache-2.0
//
// Files of poses, one a line. Blank lines and lines that start with # are skipped.
//
//   kKitti  12 numbers: a 3x4 matrix, row-major. Pose i has the stamp i * 0.1 s.
//   kTum    stamp x y z qx qy qz qw; the stamp in seconds, exact to the nanosecond.
//
// Errors: those of reading a file, and InvalidArgument with file, line and what is wrong.

#ifndef VOXLOC_CLIENTS_DATASET_TRAJECTORY_FILE_H_
#define VOXLOC_CLIENTS_DATASET_TRAJECTORY_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct StampedPose {
  int64_t stamp_ns = 0;
  Pose pose;
};

enum class TrajectoryFormat { kKitti, kTum };

// "kitti" or "tum".
[[nodiscard]] absl::StatusOr<TrajectoryFormat> TrajectoryFormatNamed(absl::string_view name);

// A file without a pose is an error.
[[nodiscard]] absl::StatusOr<std::vector<StampedPose>> ReadTrajectory(const std::string& path,
                                                                      TrajectoryFormat format);

// Numbers read back as the same doubles; matrices and quaternions as the same rotation to rounding.
// kKitti drops the stamps. The file appears whole or not at all.
[[nodiscard]] absl::Status WriteTrajectory(const std::string& path, TrajectoryFormat format,
                                           const std::vector<StampedPose>& poses);

// Camera poses: KITTI's odometry has the poses of the left camera (x right, y down, z forward), not
// of the LiDAR or the vehicle. A map built from them without conversion is rotated by 90 degrees.
//
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

// A warning if poses that should be of a vehicle or a LiDAR move along their z axis, as those of a
// camera do. nullopt: no warning, or they hardly move.
[[nodiscard]] std::optional<std::string> AxesWarning(const std::vector<StampedPose>& poses);

// Decimal seconds ("1403636579.763555552", "-0.5", "1.403636579763555552e+09"), exact to the
// nanosecond: a double is too coarse for nanoseconds since 1970. Further digits are cut off.
// nullopt when the text is no number or its nanoseconds do not fit 64 bits.
[[nodiscard]] std::optional<int64_t> NanosecondsFromSeconds(absl::string_view seconds);

// The shortest text that reads back as the same double.
[[nodiscard]] std::string NumberText(double value);

// Always nine decimals.
[[nodiscard]] std::string SecondsFromNanoseconds(int64_t stamp_ns);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_TRAJECTORY_FILE_H_
