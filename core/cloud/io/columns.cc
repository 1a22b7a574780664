// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/columns.h"

#include <cstring>
#include <vector>

namespace voxloc {
namespace {

// Float32 steps are 0.12 mm below this distance and 0.24 mm above it.
constexpr double kFloatIsEnough_m = 2048.0;
// Further out than any place on Earth in any frame in use: a broken point, no origin.
constexpr double kFurthestOrigin_m = 1e8;

}  // namespace

CloudBuilder::CloudBuilder(size_t expected_points, bool with_intensity,
                           const std::optional<Eigen::Vector3d>& origin)
    : origin_chosen_(origin.has_value()) {
  if (origin_chosen_) cloud_.origin = *origin;
  cloud_.Reserve(expected_points);
  if (with_intensity) cloud_.intensity.reserve(expected_points);
}

void CloudBuilder::ChooseOrigin(const Eigen::Vector3d& point) {
  if (!point.allFinite()) return;
  const double distance = point.cwiseAbs().maxCoeff();
  if (distance > kFurthestOrigin_m) return;
  origin_chosen_ = true;
  if (distance > kFloatIsEnough_m) cloud_.origin = point.array().round();
}

void CloudBuilder::Add(const Eigen::Vector3d& point) {
  if (!origin_chosen_) ChooseOrigin(point);
  const Eigen::Vector3f offset = (point - cloud_.origin).cast<float>();
  cloud_.PushBack(offset.x(), offset.y(), offset.z());
}

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
