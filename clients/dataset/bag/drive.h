// SPDX-License-Identifier: Apache-2.0
//
// A recorded drive: the scans of a bag, in the order in which they were recorded, with the pose of
// the vehicle at each.
//
// Open reads the bag twice, for the frames of tf and then for stamps and poses; reading the clouds
// is a third pass. Memory: 150 bytes per scan, 64 bytes per pose, and that of the bag.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_DRIVE_H_
#define VOXLOC_CLIENTS_DATASET_BAG_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/pose_source.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::bag {

struct DriveOptions {
  std::vector<std::string> paths;  // as OpenBag takes them
  // Empty: the only topic of its kind; without a topic of poses, tf.
  std::string points_topic;
  std::string poses_topic;
  std::string poses_file;           // tum; in place of poses of the bag; empty: none
  const char* poses_are = "poses";  // what the remarks call them
  std::string guesses_topic;        // of poses or odometry; empty: none
  PoseFrames frames;
  std::optional<Pose> base_T_sensor;  // nullopt: from the frames of the bag
  size_t max_scans = 0;               // 0: all
  // Called periodically while the bag is read.
  std::function<void(uint64_t messages, uint64_t of)> on_progress;
};

struct DriveScan {
  uint64_t number = 0;   // among the messages of its topic, from 0
  int64_t stamp_ns = 0;  // of the header
  Pose map_T_base;
  Pose guess_map_T_base;  // meaningful with a topic of guesses
};

class Drive;

// The clouds of a drive's scans, one after the other, in the sensor's frame. Each call gives the
// next scan, until an error, which names the scan. For one thread; the drive must outlive it.
class DriveClouds {
 public:
  [[nodiscard]] absl::StatusOr<PointCloud> Next();
  // As if all points had been seen at the scan's stamp, by the mean twist of the base from the
  // first point to the last one (Drive::TwistDuring). Points without a time within
  // ros::kMaxPointTimeS are not finite then. nullopt: the twist is not known. Errors as of
  // NextWithTimes. Without `times`, as Next.
  [[nodiscard]] absl::StatusOr<std::optional<PointCloud>> NextDeskewed(
      const std::optional<ros::PointTimeChoice>& times);
  // With the times of the points, as the ROS bridge sends it. InvalidArgument also: the cloud does
  // not have the times.
  [[nodiscard]] absl::StatusOr<v1::Cloud> NextWithTimes(const ros::PointTimeChoice& times);

 private:
  friend class Drive;
  DriveClouds(const Drive& drive, std::unique_ptr<Cursor> cursor)
      : drive_(drive), cursor_(std::move(cursor)) {}

  [[nodiscard]] absl::StatusOr<v1::Cloud> Encode(const ros::CloudEncodingOptions& options);

  const Drive& drive_;
  std::unique_ptr<Cursor> cursor_;
  size_t next_scan_ = 0;
  uint64_t next_number_ = 0;
};

class Drive {
 public:
  // Errors say which topics and frames there are. NotFound, InvalidArgument: a topic, a frame or a
  // transform is missing, or there are several; no scan has a pose.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Drive>> Open(const DriveOptions& options);

  // Those that have a pose; at least one.
  [[nodiscard]] const std::vector<DriveScan>& scans() const { return scans_; }
  // nullopt: the clouds are in the base frame.
  [[nodiscard]] const std::optional<Pose>& base_T_sensor() const { return base_T_sensor_; }
  [[nodiscard]] const Topic& points_topic() const;
  // In which the poses are; "" if neither the user nor the recording names it.
  [[nodiscard]] const std::string& map_frame() const { return map_frame_; }
  // What was chosen, and what was left out: a sentence each, for people.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

  [[nodiscard]] absl::StatusOr<std::unique_ptr<DriveClouds>> ReadClouds() const;

  // The mean twist of the base between the stamps, or over 0.1 s where they are nearer to each
  // other. Beyond the first and the last pose it is that of as long a time next to it. nullopt:
  // there are no poses within kMaxPoseGap_ns of each other at both ends.
  [[nodiscard]] std::optional<Twist> TwistDuring(int64_t from_ns, int64_t to_ns) const;

 private:
  explicit Drive(std::unique_ptr<Bag> bag) : bag_(std::move(bag)) {}

  // Reads the topics, and calls `take` with every message.
  [[nodiscard]] absl::Status ForEach(
      const std::vector<size_t>& topics, const DriveOptions& options,
      const std::function<absl::Status(const Topic&, const Message&)>& take) const;
  [[nodiscard]] absl::Status ReadFrames(const DriveOptions& options);
  [[nodiscard]] absl::StatusOr<PoseSource> ChoosePoseSource(const DriveOptions& options);
  // Fills scans_ without their poses.
  [[nodiscard]] absl::Status ReadScanHeaders(const DriveOptions& options, PoseSource* poses,
                                             PoseSource* guesses);
  [[nodiscard]] absl::Status ResolveSensorPose(const DriveOptions& options,
                                               const PoseSource& poses);
  [[nodiscard]] absl::Status KeepScansWithPoses(const DriveOptions& options,
                                                const PoseSource& poses, const PoseSource* guesses);

  std::unique_ptr<Bag> bag_;
  size_t points_topic_ = 0;
  FrameTree frames_;
  std::string cloud_frame_;
  std::string map_frame_;
  std::vector<DriveScan> scans_;
  std::optional<Pose> base_T_sensor_;
  std::optional<PoseSource> poses_;
  std::vector<std::string> remarks_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_DRIVE_H_
