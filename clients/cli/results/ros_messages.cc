// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/results/ros_messages.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/dataset/bag/byte_writer.h"

namespace voxloc::cli {
namespace {

// Fields of ROS 2's types, in the order in which they are on the wire, as common_interfaces and
// Autoware define them since Humble.
struct Definition {
  absl::string_view type;
  absl::string_view fields;
};
constexpr Definition kDefinitions[] = {
    {"builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n"},
    {"builtin_interfaces/Duration", "int32 sec\nuint32 nanosec\n"},
    {"std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n"},
    {"std_msgs/ColorRGBA", "float32 r\nfloat32 g\nfloat32 b\nfloat32 a\n"},
    {"geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n"},
    {"geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n"},
    {"geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"},
    {"geometry_msgs/Pose", "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n"},
    {"geometry_msgs/PoseWithCovariance", "geometry_msgs/Pose pose\nfloat64[36] covariance\n"},
    {"geometry_msgs/PoseWithCovarianceStamped",
     "std_msgs/Header header\ngeometry_msgs/PoseWithCovariance pose\n"},
    {"geometry_msgs/Transform",
     "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n"},
    {"geometry_msgs/TransformStamped",
     "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n"},
    {"tf2_msgs/TFMessage", "geometry_msgs/TransformStamped[] transforms\n"},
    {"sensor_msgs/PointField", "string name\nuint32 offset\nuint8 datatype\nuint32 count\n"},
    {"sensor_msgs/PointCloud2",
     "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\n"
     "bool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n"},
    {"sensor_msgs/CompressedImage", "std_msgs/Header header\nstring format\nuint8[] data\n"},
    {"diagnostic_msgs/KeyValue", "string key\nstring value\n"},
    {"diagnostic_msgs/DiagnosticStatus",
     "byte level\nstring name\nstring message\nstring hardware_id\n"
     "diagnostic_msgs/KeyValue[] values\n"},
    {"diagnostic_msgs/DiagnosticArray",
     "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n"},
    {"autoware_internal_debug_msgs/Float32Stamped",
     "builtin_interfaces/Time stamp\nfloat32 data\n"},
    {"autoware_internal_debug_msgs/Int32Stamped", "builtin_interfaces/Time stamp\nint32 data\n"},
    {"visualization_msgs/UVCoordinate", "float32 u\nfloat32 v\n"},
    {"visualization_msgs/MeshFile", "string filename\nuint8[] data\n"},
    {"visualization_msgs/Marker",
     "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\n"
     "geometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\nstd_msgs/ColorRGBA color\n"
     "builtin_interfaces/Duration lifetime\nbool frame_locked\ngeometry_msgs/Point[] points\n"
     "std_msgs/ColorRGBA[] colors\nstring texture_resource\nsensor_msgs/CompressedImage texture\n"
     "visualization_msgs/UVCoordinate[] uv_coordinates\nstring text\nstring mesh_resource\n"
     "visualization_msgs/MeshFile mesh_file\nbool mesh_use_embedded_materials\n"},
    {"visualization_msgs/MarkerArray", "visualization_msgs/Marker[] markers\n"},
};

absl::string_view FieldsOf(absl::string_view type) {
  const auto* found = std::find_if(std::begin(kDefinitions), std::end(kDefinitions),
                                   [type](const Definition& known) { return known.type == type; });
  return found == std::end(kDefinitions) ? "" : found->fields;
}

// Appends the definitions of the types that `fields` has, each once.
void AppendTypesIn(absl::string_view fields, std::set<std::string>* done, std::string* text) {
  for (const absl::string_view line : absl::StrSplit(fields, '\n', absl::SkipEmpty())) {
    const std::string type(line.substr(0, line.find_first_of(" [")));
    const absl::string_view fields_of_type = FieldsOf(type);
    if (fields_of_type.empty() || !done->insert(type).second) continue;
    absl::StrAppend(text, std::string(80, '='), "\nMSG: ", type, "\n", fields_of_type);
    AppendTypesIn(fields_of_type, done, text);
  }
}

// Of visualization_msgs/Marker.
constexpr int32_t kArrow = 0;
constexpr int32_t kTriangleList = 11;
constexpr int32_t kAdd = 0;

// Writes the parts of messages.
class CdrMessage {
 public:
  CdrMessage() : out_(Rules()) {}

  template <typename T>
  void Put(T value) {
    out_.Write(value);
  }
  void PutBool(bool value) { Put(static_cast<uint8_t>(value)); }
  void PutText(absl::string_view text) { out_.String(text); }
  void PutBytes(absl::string_view bytes) { out_.Block(bytes); }
  void PutSize(size_t size) { Put(static_cast<uint32_t>(size)); }

  // Nanoseconds count upwards also before 1970.
  void PutTime(int64_t stamp_ns) {
    constexpr int64_t kSecond_ns = 1'000'000'000;
    const int64_t nanoseconds = (stamp_ns % kSecond_ns + kSecond_ns) % kSecond_ns;
    Put(static_cast<int32_t>((stamp_ns - nanoseconds) / kSecond_ns));
    Put(static_cast<uint32_t>(nanoseconds));
  }
  void PutHeader(const ros::Header& header) {
    PutTime(header.stamp_ns);
    PutText(header.frame_id);
  }
  void PutVector(const Eigen::Vector3d& vector) {
    for (int i = 0; i < 3; ++i) Put(vector[i]);
  }
  // geometry_msgs/Pose and Transform.
  void PutPose(const Pose& pose) {
    PutVector(pose.translation);
    for (int i = 0; i < 4; ++i) Put(pose.rotation.coeffs()[i]);  // x y z w
  }
  void PutColor(const ros::Color& color) {
    for (const float part : {color.r, color.g, color.b, color.a}) Put(part);
  }

  // What a marker of any type has, and its corners with their colours.
  void PutMarker(const ros::ArrowMarker& marker, int32_t type,
                 const std::vector<Eigen::Vector3d>& corners,
                 const std::vector<ros::Color>& colors) {
    PutHeader(marker.header);
    PutText(marker.ns);
    Put(marker.id);
    Put(type);
    Put(kAdd);
    PutPose(marker.pose);
    PutVector(marker.scale);
    PutColor(marker.color);
    PutTime(std::llround(1e9 * marker.lifetime_s));
    PutBool(false);  // locked to its frame
    PutSize(corners.size());
    for (const Eigen::Vector3d& corner : corners) PutVector(corner);
    PutSize(colors.size());
    for (const ros::Color& color : colors) PutColor(color);
    PutText("");         // texture_resource
    PutHeader({0, ""});  // texture: header,
    PutText("");         // format
    PutBytes("");        // and data
    PutSize(0);          // uv_coordinates
    PutText("");         // text
    PutText("");         // mesh_resource
    PutText("");         // mesh_file: filename
    PutBytes("");        // and data
    PutBool(false);      // mesh_use_embedded_materials
  }

  // With the head of little-endian CDR.
  [[nodiscard]] std::string Take() {
    return absl::StrCat(absl::string_view("\x00\x01\x00\x00", 4), out_.bytes());
  }

 private:
  static bag::ByteReader::Rules Rules() {
    bag::ByteReader::Rules rules;
    rules.max_alignment = 8;
    rules.strings_end_with_zero = true;
    return rules;
  }

  bag::ByteWriter out_;
};

}  // namespace

std::string DefinitionOf(absl::string_view type) {
  const absl::string_view fields = FieldsOf(absl::StrReplaceAll(type, {{"/msg/", "/"}}));
  std::string text(fields);
  std::set<std::string> done;
  AppendTypesIn(fields, &done, &text);
  return text;
}

std::string ToCdr(const ros::PoseWithCovarianceStamped& message) {
  CdrMessage out;
  out.PutHeader(message.header);
  out.PutPose(message.pose);
  for (int i = 0; i < 36; ++i) out.Put(message.covariance(i / 6, i % 6));
  return out.Take();
}

std::string ToCdr(const ros::PointCloud2& message) {
  CdrMessage out;
  out.PutHeader(message.header);
  out.Put(uint32_t{1});  // rows
  out.Put(message.width);
  out.PutSize(message.fields.size());
  for (const ros::PointField& field : message.fields) {
    out.PutText(field.name);
    out.Put(field.offset);
    out.Put(field.datatype);
    out.Put(field.count);
  }
  out.PutBool(false);  // big-endian
  out.Put(message.point_step);
  out.PutSize(message.data.size());  // of a row
  out.PutBytes({reinterpret_cast<const char*>(message.data.data()), message.data.size()});
  out.PutBool(message.is_dense);
  return out.Take();
}

std::string ToCdr(const ros::Float32Stamped& message) {
  CdrMessage out;
  out.PutTime(message.stamp_ns);
  out.Put(message.data);
  return out.Take();
}

std::string ToCdr(const ros::Int32Stamped& message) {
  CdrMessage out;
  out.PutTime(message.stamp_ns);
  out.Put(message.data);
  return out.Take();
}

std::string ToCdr(const ros::TransformStamped& message) {
  CdrMessage out;
  out.PutSize(1);
  out.PutHeader(message.header);
  out.PutText(message.child_frame_id);
  out.PutPose(message.parent_T_child);
  return out.Take();
}

std::string ToCdr(int64_t stamp_ns, const ros::DiagnosticStatus& status) {
  CdrMessage out;
  out.PutHeader({stamp_ns, ""});
  out.PutSize(1);
  out.Put(static_cast<uint8_t>(status.level));
  for (const std::string* text : {&status.name, &status.message, &status.hardware_id}) {
    out.PutText(*text);
  }
  out.PutSize(status.values.size());
  for (const ros::DiagnosticStatus::KeyValue& entry : status.values) {
    out.PutText(entry.key);
    out.PutText(entry.value);
  }
  return out.Take();
}

std::string ToCdr(const std::vector<ros::ArrowMarker>& markers) {
  CdrMessage out;
  out.PutSize(markers.size());
  for (const ros::ArrowMarker& marker : markers) out.PutMarker(marker, kArrow, {}, {});
  return out.Take();
}

std::string ToCdr(const TriangleMarker& marker) {
  ros::ArrowMarker shared;
  shared.header = marker.header;
  shared.ns = marker.ns;
  shared.scale = Eigen::Vector3d::Ones();
  shared.color = {1.0F, 1.0F, 1.0F, 1.0F};  // of markers without colours of their own
  CdrMessage out;
  out.PutSize(1);
  out.PutMarker(shared, kTriangleList, marker.corners, marker.colors);
  return out.Take();
}

}  // namespace voxloc::cli
