// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/messages.h"

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace voxloc::client {
namespace {

constexpr size_t kXyzBytes = 3 * sizeof(float);

}  // namespace

void EncodePoints(const PointCloud& cloud, size_t first, size_t count, v1::Cloud* message) {
  message->set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  message->set_stride(static_cast<uint32_t>(kXyzBytes));
  if (cloud.origin.isZero(0.0)) {
    message->clear_origin();
  } else {
    message->mutable_origin()->set_x(cloud.origin.x());
    message->mutable_origin()->set_y(cloud.origin.y());
    message->mutable_origin()->set_z(cloud.origin.z());
  }
  std::string* data = message->mutable_data();
  data->resize(count * kXyzBytes);
  char* at = &(*data)[0];
  for (size_t i = first; i < first + count; ++i, at += kXyzBytes) {
    const std::array<float, 3> point = {cloud.x[i], cloud.y[i], cloud.z[i]};
    std::memcpy(at, point.data(), kXyzBytes);
  }
}

void EncodeCloud(const PointCloud& cloud, v1::Cloud* message) {
  EncodePoints(cloud, 0, cloud.size(), message);
}

void EncodeVector(const Eigen::Vector3d& vector, v1::Vector3* message) {
  message->set_x(vector.x());
  message->set_y(vector.y());
  message->set_z(vector.z());
}

void EncodePose(const Pose& pose, v1::Pose* message) {
  EncodeVector(pose.translation, message->mutable_position());
  v1::Quaternion* orientation = message->mutable_orientation();
  orientation->set_x(pose.rotation.x());
  orientation->set_y(pose.rotation.y());
  orientation->set_z(pose.rotation.z());
  orientation->set_w(pose.rotation.w());
}

absl::StatusOr<Pose> DecodePose(const v1::Pose& message) {
  const v1::Vector3& position = message.position();
  const v1::Quaternion& orientation = message.orientation();
  return PoseFromQuaternion(
      Eigen::Vector3d(position.x(), position.y(), position.z()),
      Eigen::Quaterniond(orientation.w(), orientation.x(), orientation.y(), orientation.z()));
}

std::string StatusName(v1::AlignmentStatus status) {
  const std::string name = v1::AlignmentStatus_Name(status);
  if (name.empty()) return absl::StrCat("STATUS_", static_cast<int>(status));
  return std::string(absl::StripPrefix(name, "ALIGNMENT_STATUS_"));
}

std::string TerminationName(v1::TerminationReason reason) {
  const std::string name = v1::TerminationReason_Name(reason);
  if (name.empty()) return absl::StrCat("REASON_", static_cast<int>(reason));
  return std::string(absl::StripPrefix(name, "TERMINATION_REASON_"));
}

}  // namespace voxloc::client
