// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/columns.h"

#include <cstring>
#include <vector>

#include "core/cloud/io/cloud_builder.h"

namespace voxloc {
namespace {

void CopyFloats(const Column& column, size_t count, std::vector<float>& values) {
  values.resize(count);
  const char* source = column.first;
  for (float& value : values) {
    std::memcpy(&value, source, sizeof(float));
    source += column.stride_bytes;
  }
}

void ConvertToFloats(const Column& column, size_t count, std::vector<float>& values) {
  if (column.type == ScalarType::kFloat32 && !column.big_endian) {
    CopyFloats(column, count, values);
    return;
  }
  values.resize(count);
  const ScalarLoader load = LoaderOf(column.type, column.big_endian);
  const char* source = column.first;
  for (float& value : values) {
    value = static_cast<float>(load(source));
    source += column.stride_bytes;
  }
}

PointCloud CloudFromDoubles(const PointColumns& columns, std::optional<Eigen::Vector3d>* origin) {
  CloudBuilder builder(columns.count, false, *origin);
  const auto load =
      columns.Map([](const Column& column) { return LoaderOf(column.type, column.big_endian); });
  for (size_t i = 0; i < columns.count; ++i) {
    builder.Add({load.x(columns.x.first + i * columns.x.stride_bytes),
                 load.y(columns.y.first + i * columns.y.stride_bytes),
                 load.z(columns.z.first + i * columns.z.stride_bytes)});
  }
  *origin = builder.origin();
  return std::move(builder).Take();
}

}  // namespace

PointColumns RecordLayout::ColumnsOf(const char* first, size_t count) const {
  return {Map([&](const RecordField& field) {
            return Column{field.type, first + field.offset_bytes, record_bytes, big_endian};
          }),
          count};
}

PointCloud CloudFromColumns(const PointColumns& columns) {
  std::optional<Eigen::Vector3d> origin;
  return CloudFromColumns(columns, &origin);
}

PointCloud CloudFromColumns(const PointColumns& columns, std::optional<Eigen::Vector3d>* origin) {
  PointCloud cloud;
  if (columns.x.type == ScalarType::kFloat32 && columns.y.type == ScalarType::kFloat32 &&
      columns.z.type == ScalarType::kFloat32) {
    ConvertToFloats(columns.x, columns.count, cloud.x);
    ConvertToFloats(columns.y, columns.count, cloud.y);
    ConvertToFloats(columns.z, columns.count, cloud.z);
  } else {
    cloud = CloudFromDoubles(columns, origin);
  }
  if (columns.intensity.has_value()) {
    ConvertToFloats(*columns.intensity, columns.count, cloud.intensity);
  }
  return cloud;
}

}  // namespace voxloc
