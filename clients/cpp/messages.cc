// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/messages.h"

#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace voxloc::client {
namespace {

constexpr size_t kXyzBytes = 3 * sizeof(float);

// Not of -0: the digest of a tile has the origin's bits, and an origin left out stands for +0.
bool IsPositiveZero(const Eigen::Vector3d& origin) {
  return origin.isZero(0.0) && !std::signbit(origin.x()) && !std::signbit(origin.y()) &&
         !std::signbit(origin.z());
}

size_t LayoutBytes(v1::CloudLayout layout) {
  switch (layout) {
    case v1::CLOUD_LAYOUT_FLOAT32_XYZ:
      return kXyzBytes;
    case v1::CLOUD_LAYOUT_FLOAT32_XYZI:
    case v1::CLOUD_LAYOUT_FLOAT32_XYZT:
      return kXyzBytes + sizeof(float);
    case v1::CLOUD_LAYOUT_FLOAT32_XYZIT:
      return kXyzBytes + 2 * sizeof(float);
    default:
      return 0;
  }
}

// Where a point's time is; 0: it has none.
size_t TimeOffset(v1::CloudLayout layout) {
  const bool has_time =
      layout == v1::CLOUD_LAYOUT_FLOAT32_XYZT || layout == v1::CLOUD_LAYOUT_FLOAT32_XYZIT;
  return has_time ? LayoutBytes(layout) - sizeof(float) : 0;
}

}  // namespace

void EncodePoints(const PointCloud& cloud, size_t first, size_t count, v1::Cloud* message) {
  message->set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
  message->set_stride(static_cast<uint32_t>(kXyzBytes));
  if (IsPositiveZero(cloud.origin)) {
    message->clear_origin();
  } else {
    EncodeVector(cloud.origin, message->mutable_origin());
  }
  std::string* data = message->mutable_data();
  data->resize(count * kXyzBytes);
  char* at = &(*data)[0];
  for (size_t i = first; i < first + count; ++i, at += kXyzBytes) {
    const std::array<float, 3> point = {cloud.x[i], cloud.y[i], cloud.z[i]};
    std::memcpy(at, point.data(), kXyzBytes);
  }
}

absl::Status DecodePoints(const v1::Cloud& message, PointCloud* cloud, std::vector<float>* time_s) {
  if (message.data().empty()) return absl::OkStatus();
  const size_t least = LayoutBytes(message.layout());
  const size_t stride = message.stride() == 0 ? least : message.stride();
  if (least == 0 || stride < least || message.data().size() % stride != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a cloud must have float32 points of a whole number of strides (got layout ",
                     static_cast<int>(message.layout()), ", stride ", message.stride(), ", ",
                     message.data().size(), " bytes)"));
  }
  const size_t time_offset = TimeOffset(message.layout());
  if (time_s != nullptr && time_offset == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a cloud must have times of its points (got layout ",
                     static_cast<int>(message.layout()), ")"));
  }
  PointCloud more;
  more.origin = {message.origin().x(), message.origin().y(), message.origin().z()};
  if (cloud->empty()) cloud->origin = more.origin;
  const size_t count = message.data().size() / stride;
  more.Reserve(count);
  const char* at = message.data().data();
  for (size_t i = 0; i < count; ++i, at += stride) {
    std::array<float, 3> point;
    std::memcpy(point.data(), at, kXyzBytes);
    more.PushBack(point[0], point[1], point[2]);
    if (time_s != nullptr) std::memcpy(&time_s->emplace_back(), at + time_offset, sizeof(float));
  }
  Append(more, *cloud);
  return absl::OkStatus();
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
