// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/timed_pcd.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/pcd_header.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

using ros::PointField;

// nullopt: ROS has no such type.
std::optional<PointField::Datatype> RosTypeOf(ScalarType type) {
  switch (type) {
    case ScalarType::kInt8:
      return PointField::kInt8;
    case ScalarType::kInt16:
      return PointField::kInt16;
    case ScalarType::kInt32:
      return PointField::kInt32;
    case ScalarType::kUint8:
      return PointField::kUint8;
    case ScalarType::kUint16:
      return PointField::kUint16;
    case ScalarType::kUint32:
      return PointField::kUint32;
    case ScalarType::kFloat32:
      return PointField::kFloat32;
    case ScalarType::kFloat64:
      return PointField::kFloat64;
    case ScalarType::kInt64:
    case ScalarType::kUint64:
      break;
  }
  return std::nullopt;
}

std::vector<PointField> RosFieldsOf(const PcdHeader& header) {
  std::vector<PointField> fields;
  uint32_t offset = 0;
  for (const PcdField& field : header.fields) {
    const auto datatype = RosTypeOf(field.type);
    if (datatype.has_value() && !field.is_padding()) {
      fields.push_back({field.name, offset, *datatype, static_cast<uint32_t>(field.count)});
    }
    offset += static_cast<uint32_t>(field.bytes());
  }
  return fields;
}

}  // namespace

absl::StatusOr<v1::Cloud> ReadTimedPcd(const std::string& path, const ros::PointTimeChoice& times,
                                       const CloudReadOptions& limits) {
  const auto fail = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  if (format != CloudFormat::kPcd) {
    return fail(absl::InvalidArgumentError("points with times are read from PCD files only"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, limits.max_file_bytes));
  VOXLOC_ASSIGN_OR_RETURN(const PcdHeader header, ParsePcdHeader(bytes.view(), path));
  if (header.encoding != PcdEncoding::kBinary) {
    return fail(absl::InvalidArgumentError("points with times are read from DATA binary only"));
  }
  if (!header.viewpoint.translation.isZero(0.0) || !header.viewpoint.rotation.vec().isZero(0.0)) {
    return fail(absl::InvalidArgumentError(
        "the points must be in the sensor's frame, and VIEWPOINT moves them"));
  }
  // The same checks of the size as without times.
  VOXLOC_TRY(ParsePcd(bytes.view(), path, limits.max_points).status());
  const std::vector<PointField> fields = RosFieldsOf(header);
  ros::PointCloud2View view;
  view.height = 1;
  view.width = static_cast<uint32_t>(header.points);
  view.fields = fields;
  view.point_step = static_cast<uint32_t>(header.point_bytes());
  view.row_step = view.width * view.point_step;
  view.data = {reinterpret_cast<const uint8_t*>(bytes.view().data()) + header.data_offset,
               header.points * header.point_bytes()};
  ros::CloudEncodingOptions options;
  options.time = times;
  absl::StatusOr<v1::Cloud> cloud = ros::EncodeTimedCloud(view, options);
  if (!cloud.ok()) return fail(cloud.status());
  return cloud;
}

}  // namespace voxloc
