// SPDX-License-Identifier: Apache-2.0
//
// What is sent and received, as values of C++ that own what they have, and their way to and from
// the structures on the wire. Stamps are nanoseconds of the ROS time of the sender.

#ifndef VOXLOC_TESTS_ROS_WIRE_VALUES_H_
#define VOXLOC_TESTS_ROS_WIRE_VALUES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/geometry/pose.h"
#include "tests/ros_wire/wire_types.h"

namespace voxloc::ros_wire {

// Of sensor_msgs/PointField.
enum class FieldType : uint8_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
};

struct CloudField {
  std::string name;
  uint32_t offset = 0;
  FieldType type = FieldType::kFloat32;
  uint32_t count = 1;
};

// As sensor_msgs/PointCloud2.
struct Cloud {
  int64_t stamp_ns = 0;
  std::string frame_id;
  uint32_t height = 1;
  uint32_t width = 0;
  std::vector<CloudField> fields;
  bool is_big_endian = false;
  uint32_t point_step = 0;
  uint32_t row_step = 0;
  std::string data;
  bool is_dense = true;
};

struct StampedPose {
  int64_t stamp_ns = 0;
  std::string frame_id;
  Pose frame_T_base;
  std::array<double, 36> covariance{};  // row-major, x y z and rotations about x y z
};

struct StampedTransform {
  int64_t stamp_ns = 0;
  std::string frame_id;
  std::string child_frame_id;
  Pose frame_T_child;
};

// Levels of diagnostic_msgs/DiagnosticStatus.
inline constexpr int kLevelOk = 0;
inline constexpr int kLevelWarn = 1;
inline constexpr int kLevelError = 2;

// A status of a diagnostic_msgs/DiagnosticArray.
struct Diagnostic {
  int64_t stamp_ns = 0;
  int level = -1;
  std::string name;
  std::string message;
  std::string hardware_id;
  std::vector<std::pair<std::string, std::string>> values;

  // nullopt: it has no such key.
  [[nodiscard]] std::optional<std::string> Find(const std::string& key) const;
};

// Of a topic such as `exe_time_ms`.
struct StampedNumber {
  int64_t stamp_ns = 0;
  double value = 0.0;
};

[[nodiscard]] TimeMessage ToWire(int64_t stamp_ns);
[[nodiscard]] int64_t FromWire(const TimeMessage& time);
[[nodiscard]] PoseMessage ToWire(const Pose& pose);
[[nodiscard]] Pose FromWire(const PoseMessage& pose);

// The text, as a structure that is only written refers to it. It must outlive the structure.
[[nodiscard]] inline char* Borrow(const std::string& text) {
  return const_cast<char*>(text.c_str());
}

// Parts of messages that refer to `value` or `frame_id`, which must outlive them.
[[nodiscard]] HeaderMessage ToWire(int64_t stamp_ns, const std::string& frame_id);
[[nodiscard]] PoseWithCovarianceStampedMessage ToWire(const StampedPose& value);
[[nodiscard]] TransformStampedMessage ToWire(const StampedTransform& value);

// A message of a cloud. It refers to the cloud, which must outlive it and stay as it is.
class CloudOnWire {
 public:
  explicit CloudOnWire(const Cloud& cloud);
  CloudOnWire(const CloudOnWire&) = delete;
  CloudOnWire& operator=(const CloudOnWire&) = delete;
  [[nodiscard]] const PointCloud2Message& message() const { return message_; }

 private:
  std::vector<PointFieldMessage> fields_;
  PointCloud2Message message_{};
};

[[nodiscard]] Cloud FromWire(const PointCloud2Message& message);
[[nodiscard]] StampedPose FromWire(const PoseStampedMessage& message);
[[nodiscard]] StampedPose FromWire(const PoseWithCovarianceStampedMessage& message);
[[nodiscard]] StampedTransform FromWire(const TransformStampedMessage& message);
[[nodiscard]] std::vector<StampedTransform> FromWire(const TfMessage& message);
[[nodiscard]] std::vector<Diagnostic> FromWire(const DiagnosticArrayMessage& message);
[[nodiscard]] StampedNumber FromWire(const Float32StampedMessage& message);
[[nodiscard]] StampedNumber FromWire(const Int32StampedMessage& message);

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_VALUES_H_
