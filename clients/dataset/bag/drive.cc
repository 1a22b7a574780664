// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/drive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/bag/messages.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/motion.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

constexpr uint64_t kProgressMessages = 256;

// The sweep of a LiDAR of 10 Hz.
constexpr int64_t kMinMotion_ns = 100'000'000;

std::string NameText(const std::string& frame) {
  return frame.empty() ? "(not named)" : absl::StrCat("'", frame, "'");
}

std::string PositionText(const Pose& pose) {
  return absl::StrFormat("%.3f %.3f %.3f m", pose.translation.x(), pose.translation.y(),
                         pose.translation.z());
}

std::string SpanText(int64_t first_ns, int64_t last_ns) {
  return absl::StrCat(SecondsFromNanoseconds(first_ns), " to ", SecondsFromNanoseconds(last_ns),
                      " s");
}

absl::StatusOr<v1::Cloud> EncodedCloudOf(const Topic& topic, absl::string_view bytes,
                                         const ros::CloudEncodingOptions& options) {
  CloudMessage message;
  VOXLOC_TRY(DecodePointCloud2(topic, bytes, &message));
  return ros::EncodeTimedCloud(message.view, options);
}

}  // namespace

absl::StatusOr<v1::Cloud> DriveClouds::Encode(const ros::CloudEncodingOptions& options) {
  const DriveScan& scan = drive_.scans()[next_scan_];
  const auto fail = [&](const absl::Status& status) {
    return absl::Status(
        status.code(),
        absl::StrCat("scan ", scan.number, " of ", drive_.points_topic().name, " (stamp ",
                     SecondsFromNanoseconds(scan.stamp_ns), " s): ", status.message()));
  };
  Message message;
  do {
    const absl::StatusOr<bool> more = cursor_->Next(&message);
    if (!more.ok()) return fail(more.status());
    if (!*more) return fail(absl::UnavailableError("the bag has become shorter"));
  } while (next_number_++ < scan.number);
  ++next_scan_;
  absl::StatusOr<v1::Cloud> cloud = EncodedCloudOf(drive_.points_topic(), message.bytes, options);
  if (!cloud.ok()) return fail(cloud.status());
  return cloud;
}

absl::StatusOr<PointCloud> DriveClouds::Next() {
  ros::CloudEncodingOptions options;
  options.encoding = ros::CloudEncoding::kFloat32;
  VOXLOC_ASSIGN_OR_RETURN(const v1::Cloud encoded, Encode(options));
  PointCloud cloud;
  VOXLOC_TRY(client::DecodePoints(encoded, &cloud));
  return cloud;
}

absl::StatusOr<v1::Cloud> DriveClouds::NextWithTimes(const ros::PointTimeChoice& times) {
  ros::CloudEncodingOptions options;
  options.time = times;
  return Encode(options);
}

absl::StatusOr<std::optional<PointCloud>> DriveClouds::NextDeskewed(
    const std::optional<ros::PointTimeChoice>& times) {
  if (!times.has_value()) return Next();
  const DriveScan& scan = drive_.scans()[next_scan_];
  VOXLOC_ASSIGN_OR_RETURN(const v1::Cloud encoded, NextWithTimes(*times));
  PointCloud cloud;
  std::vector<float> time_s;
  VOXLOC_TRY(client::DecodePoints(encoded, &cloud, &time_s));
  double first_s = 0.0;
  double last_s = 0.0;
  for (float& time : time_s) {
    if (!(std::abs(time) <= ros::kMaxPointTimeS)) {
      time = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    first_s = std::min<double>(first_s, time);
    last_s = std::max<double>(last_s, time);
  }
  const auto stamp_after_ns = [&scan](double s) {
    return scan.stamp_ns + static_cast<int64_t>(s * 1e9);
  };
  const std::optional<Twist> twist =
      drive_.TwistDuring(stamp_after_ns(first_s), stamp_after_ns(last_s));
  if (!twist.has_value()) return std::nullopt;
  Deskew(SensorTwist(*twist, drive_.base_T_sensor().value_or(Pose())), time_s, 0.0, cloud);
  return cloud;
}

std::optional<Twist> Drive::TwistDuring(int64_t from_ns, int64_t to_ns) const {
  const auto [first_ns, last_ns] = poses_->span_ns();
  const int64_t duration_ns = std::max(to_ns - from_ns, kMinMotion_ns);
  const int64_t begin_ns = std::clamp(from_ns, first_ns, std::max(first_ns, last_ns - duration_ns));
  const std::optional<Pose> begin = poses_->At(begin_ns);
  const std::optional<Pose> end = poses_->At(begin_ns + duration_ns);
  if (!begin.has_value() || !end.has_value()) return std::nullopt;
  return MeanTwist(*begin, *end, 1e-9 * static_cast<double>(duration_ns));
}

const Topic& Drive::points_topic() const { return bag_->contents().topics[points_topic_]; }

absl::StatusOr<std::unique_ptr<DriveClouds>> Drive::ReadClouds() const {
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<Cursor> cursor, bag_->Read({points_topic_}));
  return std::unique_ptr<DriveClouds>(new DriveClouds(*this, std::move(cursor)));
}

absl::Status Drive::ForEach(
    const std::vector<size_t>& topics, const DriveOptions& options,
    const std::function<absl::Status(const Topic&, const Message&)>& take) const {
  const BagContents& contents = bag_->contents();
  uint64_t total = 0;
  for (const size_t topic : topics) total += contents.topics[topic].messages;
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<Cursor> cursor, bag_->Read(topics));
  Message message;
  for (uint64_t done = 0;; ++done) {
    if (options.on_progress && done % kProgressMessages == 0) options.on_progress(done, total);
    VOXLOC_ASSIGN_OR_RETURN(const bool more, cursor->Next(&message));
    if (!more) return absl::OkStatus();
    VOXLOC_TRY(take(contents.topics[message.topic], message));
  }
}

absl::Status Drive::ReadFrames(const DriveOptions& options) {
  uint64_t invalid_poses = 0;
  const auto add = [&](const Topic& topic, const Message& message) -> absl::Status {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<PoseMessage> transforms,
                            DecodeTransforms(topic, message.bytes));
    for (const PoseMessage& transform : transforms) {
      if (!frames_.Add(transform).ok()) ++invalid_poses;
    }
    return absl::OkStatus();
  };
  VOXLOC_TRY(ForEach(TopicsOfKind(bag_->contents(), MessageKind::kTransforms), options, add));
  if (invalid_poses > 0) {
    remarks_.push_back(absl::StrCat(invalid_poses, " transforms of tf are none and are left out"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PoseSource> Drive::ChoosePoseSource(const DriveOptions& options) {
  if (!options.poses_file.empty()) {
    remarks_.push_back(absl::StrCat(options.poses_are, " from ", options.poses_file));
    return PoseSource::FromFile(options.poses_file, options.frames);
  }
  const BagContents& contents = bag_->contents();
  VOXLOC_ASSIGN_OR_RETURN(const std::optional<size_t> topic,
                          ChoosePoses(contents, options.poses_topic));
  if (topic.has_value() && KindOf(contents.topics[*topic]) != MessageKind::kTransforms) {
    remarks_.push_back(
        absl::StrCat(options.poses_are, " from ", TopicText(contents.topics[*topic])));
    return PoseSource::FromTopic(*topic, options.frames);
  }
  if (frames_.edges().empty()) {
    return absl::NotFoundError(
        "the bag has no poses: none of geometry_msgs/PoseStamped, "
        "geometry_msgs/PoseWithCovarianceStamped, nav_msgs/Odometry or tf; give them in a file "
        "with --poses");
  }
  remarks_.push_back("poses from tf");
  return PoseSource::FromTransforms(contents, frames_, options.frames);
}

absl::Status Drive::ReadScanHeaders(const DriveOptions& options, PoseSource* poses,
                                    PoseSource* guesses) {
  const auto wants = [](const PoseSource* source, size_t topic) {
    return source != nullptr &&
           std::count(source->topics().begin(), source->topics().end(), topic) > 0;
  };
  std::vector<size_t> topics;
  for (size_t topic = 0; topic < bag_->contents().topics.size(); ++topic) {
    if (topic == points_topic_ || wants(poses, topic) || wants(guesses, topic)) {
      topics.push_back(topic);
    }
  }
  return ForEach(topics, options, [&](const Topic& topic, const Message& message) -> absl::Status {
    for (PoseSource* source : {poses, guesses}) {
      if (!wants(source, message.topic)) continue;
      VOXLOC_TRY(source->AddMessage(topic, message.bytes));
    }
    if (message.topic != points_topic_) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(const ros::Header header, DecodeHeader(topic, message.bytes));
    if (scans_.empty()) cloud_frame_ = header.frame_id;
    if (header.frame_id != cloud_frame_) {
      return absl::InvalidArgumentError(
          absl::StrCat("the clouds of ", topic.name, " must be in one frame (got ",
                       NameText(cloud_frame_), " and ", NameText(header.frame_id), ")"));
    }
    DriveScan scan;
    scan.number = scans_.size();
    scan.stamp_ns = header.stamp_ns;
    scans_.push_back(scan);
    return absl::OkStatus();
  });
}

absl::Status Drive::ResolveSensorPose(const DriveOptions& options, const PoseSource& poses) {
  const std::string& base = poses.base_frame();
  if (options.base_T_sensor.has_value()) {
    base_T_sensor_ = options.base_T_sensor;
    remarks_.push_back(absl::StrCat("the sensor sits where --base-t-sensor says, at ",
                                    PositionText(*base_T_sensor_)));
    return absl::OkStatus();
  }
  if (base.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the poses do not say which frame of the vehicle they are of; name it with --base-frame, "
        "or say where the sensor sits with --base-t-sensor (the clouds are in ",
        NameText(cloud_frame_), "; tf has ", frames_.Text(), ")"));
  }
  if (base == cloud_frame_) return absl::OkStatus();
  const absl::StatusOr<Pose> base_T_sensor = frames_.FixedTransform(base, cloud_frame_);
  if (!base_T_sensor.ok()) {
    return absl::Status(
        base_T_sensor.status().code(),
        absl::StrCat(
            "where the sensor ", NameText(cloud_frame_), " sits on ", NameText(base),
            " is not known, and --base-t-sensor can say it: ", base_T_sensor.status().message()));
  }
  base_T_sensor_ = *base_T_sensor;
  remarks_.push_back(absl::StrCat("the sensor ", NameText(cloud_frame_), " sits on ",
                                  NameText(base), " at ", PositionText(*base_T_sensor_),
                                  ", by tf"));
  return absl::OkStatus();
}

absl::Status Drive::KeepScansWithPoses(const DriveOptions& options, const PoseSource& poses,
                                       const PoseSource* guesses) {
  size_t without_pose = 0;
  size_t without_guess = 0;
  const std::vector<DriveScan> all = std::exchange(scans_, {});
  for (DriveScan scan : all) {
    if (options.max_scans > 0 && scans_.size() == options.max_scans) break;
    const std::optional<Pose> pose = poses.At(scan.stamp_ns);
    without_pose += pose.has_value() ? 0 : 1;
    if (!pose.has_value()) continue;
    scan.map_T_base = *pose;
    if (guesses != nullptr) {
      const std::optional<Pose> guess = guesses->At(scan.stamp_ns);
      without_guess += guess.has_value() ? 0 : 1;
      if (!guess.has_value()) continue;
      scan.guess_map_T_base = *guess;
    }
    scans_.push_back(scan);
  }
  if (scans_.empty()) {
    const auto [first_ns, last_ns] = poses.span_ns();
    return absl::InvalidArgumentError(
        absl::StrCat("no scan has a ", without_guess > 0 ? "guess" : "pose",
                     " at its stamp: the stamps of the ", all.size(), " scans are ",
                     all.empty() ? "none" : SpanText(all.front().stamp_ns, all.back().stamp_ns),
                     ", those of the poses ", SpanText(first_ns, last_ns)));
  }
  const double gap_s = 1e-9 * static_cast<double>(kMaxPoseGap_ns);
  if (without_pose > 0) {
    remarks_.push_back(absl::StrFormat(
        "%d scans are left out: there are no %s at their stamp, nor within %g s on both sides",
        without_pose, options.poses_are, gap_s));
  }
  if (without_guess > 0) {
    remarks_.push_back(
        absl::StrFormat("%d scans are left out: they have no guess at their stamp", without_guess));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Drive>> Drive::Open(const DriveOptions& given) {
  DriveOptions options = given;
  for (std::string* frame : {&options.frames.map, &options.frames.base}) {
    *frame = std::string(absl::StripPrefix(*frame, "/"));  // as decoders give them
  }
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<Bag> bag, OpenBag(options.paths));
  std::unique_ptr<Drive> drive(new Drive(std::move(bag)));
  const BagContents& contents = drive->bag_->contents();
  drive->remarks_ = contents.remarks;
  VOXLOC_ASSIGN_OR_RETURN(const size_t points, ChoosePoints(contents, options.points_topic));
  drive->points_topic_ = points;
  drive->remarks_.push_back(absl::StrCat("points from ", TopicText(drive->points_topic())));
  VOXLOC_TRY(drive->ReadFrames(options));

  VOXLOC_ASSIGN_OR_RETURN(PoseSource poses, drive->ChoosePoseSource(options));
  std::optional<PoseSource> guesses;
  if (!options.guesses_topic.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(
        const size_t topic,
        TopicNamed(contents, options.guesses_topic,
                   {MessageKind::kPose, MessageKind::kPoseWithCovariance, MessageKind::kOdometry}));
    guesses = PoseSource::FromTopic(topic, options.frames);
    drive->remarks_.push_back(absl::StrCat("guesses from ", TopicText(contents.topics[topic])));
  }
  PoseSource* const guess_source = guesses.has_value() ? &*guesses : nullptr;
  VOXLOC_TRY(drive->ReadScanHeaders(options, &poses, guess_source));
  VOXLOC_TRY(poses.Finish(drive->frames_));
  drive->map_frame_ = poses.map_frame();
  if (guesses.has_value()) {
    guesses->SetFrames({poses.map_frame(), poses.base_frame()});
    VOXLOC_TRY(guesses->Finish(drive->frames_));
  }
  drive->remarks_.push_back(
      absl::StrCat("poses of ", NameText(poses.base_frame()), " in ", NameText(poses.map_frame())));
  if (poses.invalid_poses() > 0) {
    drive->remarks_.push_back(
        absl::StrCat(poses.invalid_poses(), " poses without a rotation are left out"));
  }
  VOXLOC_TRY(drive->ResolveSensorPose(options, poses));
  VOXLOC_TRY(drive->KeepScansWithPoses(options, poses, guess_source));
  drive->poses_ = std::move(poses);
  return drive;
}

}  // namespace voxloc::bag
