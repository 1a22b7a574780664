// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/values.h"

#include <algorithm>

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;

std::string Text(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

std::optional<std::string> Diagnostic::Find(const std::string& key) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& value) { return value.first == key; });
  if (found == values.end()) return std::nullopt;
  return found->second;
}

TimeMessage ToWire(int64_t stamp_ns) {
  // Nanoseconds count upwards also before 1970.
  int64_t seconds = stamp_ns / kSecond_ns;
  if (stamp_ns % kSecond_ns < 0) --seconds;
  return {static_cast<int32_t>(seconds), static_cast<uint32_t>(stamp_ns - seconds * kSecond_ns)};
}

int64_t FromWire(const TimeMessage& time) {
  return int64_t{time.sec} * kSecond_ns + int64_t{time.nanosec};
}

PoseMessage ToWire(const Pose& pose) {
  const Eigen::Vector3d& t = pose.translation;
  const Eigen::Quaterniond& q = pose.rotation;
  return {{t.x(), t.y(), t.z()}, {q.x(), q.y(), q.z(), q.w()}};
}

Pose FromWire(const PoseMessage& pose) {
  return {{pose.position.x, pose.position.y, pose.position.z},
          Eigen::Quaterniond(pose.orientation.w, pose.orientation.x, pose.orientation.y,
                             pose.orientation.z)};
}

HeaderMessage ToWire(int64_t stamp_ns, const std::string& frame_id) {
  return {ToWire(stamp_ns), Borrow(frame_id)};
}

PoseWithCovarianceStampedMessage ToWire(const StampedPose& value) {
  PoseWithCovarianceStampedMessage message{};
  message.header = ToWire(value.stamp_ns, value.frame_id);
  message.pose.pose = ToWire(value.frame_T_base);
  std::copy(value.covariance.begin(), value.covariance.end(), message.pose.covariance);
  return message;
}

TransformStampedMessage ToWire(const StampedTransform& value) {
  TransformStampedMessage message{};
  message.header = ToWire(value.stamp_ns, value.frame_id);
  message.child_frame_id = Borrow(value.child_frame_id);
  const PoseMessage pose = ToWire(value.frame_T_child);
  message.transform.translation = {pose.position.x, pose.position.y, pose.position.z};
  message.transform.rotation = pose.orientation;
  return message;
}

CloudOnWire::CloudOnWire(const Cloud& cloud) {
  for (const CloudField& field : cloud.fields) {
    fields_.push_back(
        {Borrow(field.name), field.offset, static_cast<uint8_t>(field.type), field.count});
  }
  message_.header = ToWire(cloud.stamp_ns, cloud.frame_id);
  message_.height = cloud.height;
  message_.width = cloud.width;
  message_.fields._length = message_.fields._maximum = static_cast<uint32_t>(fields_.size());
  message_.fields._buffer = fields_.data();
  message_.is_bigendian = cloud.is_big_endian;
  message_.point_step = cloud.point_step;
  message_.row_step = cloud.row_step;
  message_.data._length = message_.data._maximum = static_cast<uint32_t>(cloud.data.size());
  message_.data._buffer =
      reinterpret_cast<uint8_t*>(const_cast<char*>(cloud.data.data()));  // only read
  message_.is_dense = cloud.is_dense;
}

Cloud FromWire(const PointCloud2Message& message) {
  Cloud cloud;
  cloud.stamp_ns = FromWire(message.header.stamp);
  cloud.frame_id = Text(message.header.frame_id);
  cloud.height = message.height;
  cloud.width = message.width;
  for (uint32_t i = 0; i < message.fields._length; ++i) {
    const PointFieldMessage& field = message.fields._buffer[i];
    cloud.fields.push_back(
        {Text(field.name), field.offset, static_cast<FieldType>(field.datatype), field.count});
  }
  cloud.is_big_endian = message.is_bigendian;
  cloud.point_step = message.point_step;
  cloud.row_step = message.row_step;
  cloud.data.assign(reinterpret_cast<const char*>(message.data._buffer), message.data._length);
  cloud.is_dense = message.is_dense;
  return cloud;
}

StampedPose FromWire(const PoseStampedMessage& message) {
  return {
      FromWire(message.header.stamp), Text(message.header.frame_id), FromWire(message.pose), {}};
}

StampedPose FromWire(const PoseWithCovarianceStampedMessage& message) {
  StampedPose value{FromWire(message.header.stamp),
                    Text(message.header.frame_id),
                    FromWire(message.pose.pose),
                    {}};
  std::copy(std::begin(message.pose.covariance), std::end(message.pose.covariance),
            value.covariance.begin());
  return value;
}

StampedTransform FromWire(const TransformStampedMessage& message) {
  const Vector3Message& t = message.transform.translation;
  return {FromWire(message.header.stamp), Text(message.header.frame_id),
          Text(message.child_frame_id),
          FromWire(PoseMessage{{t.x, t.y, t.z}, message.transform.rotation})};
}

std::vector<StampedTransform> FromWire(const TfMessage& message) {
  std::vector<StampedTransform> transforms;
  for (uint32_t i = 0; i < message.transforms._length; ++i) {
    transforms.push_back(FromWire(message.transforms._buffer[i]));
  }
  return transforms;
}

std::vector<Diagnostic> FromWire(const DiagnosticArrayMessage& message) {
  std::vector<Diagnostic> all;
  for (uint32_t i = 0; i < message.status._length; ++i) {
    const DiagnosticStatusMessage& status = message.status._buffer[i];
    Diagnostic& diagnostic = all.emplace_back();
    diagnostic.stamp_ns = FromWire(message.header.stamp);
    diagnostic.level = status.level;
    diagnostic.name = Text(status.name);
    diagnostic.message = Text(status.message);
    diagnostic.hardware_id = Text(status.hardware_id);
    for (uint32_t k = 0; k < status.values._length; ++k) {
      const KeyValueMessage& pair = status.values._buffer[k];
      diagnostic.values.emplace_back(Text(pair.key), Text(pair.value));
    }
  }
  return all;
}

StampedNumber FromWire(const Float32StampedMessage& message) {
  return {FromWire(message.stamp), static_cast<double>(message.data)};
}

StampedNumber FromWire(const Int32StampedMessage& message) {
  return {FromWire(message.stamp), static_cast<double>(message.data)};
}

}  // namespace voxloc::ros_wire
