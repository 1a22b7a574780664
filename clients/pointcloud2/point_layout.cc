// SPDX-License-Identifier: Apache-2.0

#include "clients/pointcloud2/point_layout.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

uint32_t SizeOf(uint8_t datatype) {
  switch (datatype) {
    case PointField::kInt8:
    case PointField::kUint8:
      return 1;
    case PointField::kInt16:
    case PointField::kUint16:
      return 2;
    case PointField::kInt32:
    case PointField::kUint32:
    case PointField::kFloat32:
      return 4;
    case PointField::kFloat64:
      return 8;
    default:
      return 0;
  }
}

std::string NameOfType(uint8_t datatype) {
  static constexpr const char* kNames[] = {"INT8",  "UINT8",  "INT16",   "UINT16",
                                           "INT32", "UINT32", "FLOAT32", "FLOAT64"};
  if (datatype >= 1 && datatype <= 8) return kNames[datatype - 1];
  return absl::StrCat("type ", static_cast<int>(datatype));
}

const PointField* Find(const PointCloud2View& cloud, absl::string_view name) {
  for (const PointField& field : cloud.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string FieldNames(const PointCloud2View& cloud) {
  return absl::StrJoin(cloud.fields, ", ", [](std::string* out, const PointField& field) {
    absl::StrAppend(out, field.name);
  });
}

absl::StatusOr<ScalarField> ReadScalarField(const PointCloud2View& cloud, const PointField& field) {
  const uint32_t size = SizeOf(field.datatype);
  if (size == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the datatype of field '", field.name,
                                                   "' must be 1 to 8 (got ",
                                                   static_cast<int>(field.datatype), ")"));
  }
  // Some drivers leave the count of single values at 0.
  if (field.count > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("field '", field.name, "' must have a count of 1 (got ", field.count, ")"));
  }
  if (uint64_t{field.offset} + size > cloud.point_step) {
    return absl::InvalidArgumentError(absl::StrCat(
        "field '", field.name, "' must lie within point_step, which is ", cloud.point_step,
        " bytes (got offset ", field.offset, " and ", size, " bytes)"));
  }
  return ScalarField{field.offset, static_cast<PointField::Datatype>(field.datatype)};
}

absl::StatusOr<ScalarField> ReadCoordinateField(const PointCloud2View& cloud,
                                                absl::string_view name) {
  const PointField* field = Find(cloud, name);
  if (field == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cloud must have a field '", name, "' (got ", FieldNames(cloud), ")"));
  }
  if (field->datatype != PointField::kFloat32 && field->datatype != PointField::kFloat64) {
    return absl::InvalidArgumentError(absl::StrCat(
        "field '", name, "' must be FLOAT32 or FLOAT64 (got ", NameOfType(field->datatype), ")"));
  }
  return ReadScalarField(cloud, *field);
}

absl::Status CheckSizes(const PointCloud2View& cloud) {
  if (cloud.width == 0 || cloud.height == 0) return absl::OkStatus();
  if (cloud.point_step == 0) {
    return absl::InvalidArgumentError("point_step must be over 0 (got 0)");
  }
  const uint64_t row = uint64_t{cloud.width} * cloud.point_step;
  if (cloud.height > 1 && cloud.row_step < row) {
    return absl::InvalidArgumentError(absl::StrCat(
        "row_step must be at least width * point_step = ", row, " (got ", cloud.row_step, ")"));
  }
  const uint64_t needed = uint64_t{cloud.height - 1} * cloud.row_step + row;
  if (cloud.data.size() < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("data must have at least ", needed, " bytes for ", cloud.height, " rows of ",
                     cloud.width, " points (got ", cloud.data.size(), ")"));
  }
  return absl::OkStatus();
}

bool IsFloat(PointField::Datatype datatype) {
  return datatype == PointField::kFloat32 || datatype == PointField::kFloat64;
}

constexpr double kNanosecond_s = 1e-9;
// Stamps below this are in seconds (up to 31,000 years), others in nanoseconds (from 1,000 s on).
constexpr double kMinNanosecondStamp = 1e12;

// The value of the first point; its magnitude shows the unit of a clock.
double FirstValue(const PointCloud2View& cloud, const ScalarField& field) {
  return ReadScalar(cloud.data.data() + field.offset, field.datatype, cloud.is_bigendian);
}

PointTimeField ClockTime(const PointCloud2View& cloud, std::string name, const ScalarField& field) {
  const bool nanoseconds =
      !IsFloat(field.datatype) ||
      (cloud.width > 0 && cloud.height > 0 && FirstValue(cloud, field) > kMinNanosecondStamp);
  return {std::move(name), field, nanoseconds ? kNanosecond_s : 1.0, PointTimeZero::kClock};
}

PointTimeField OffsetTime(std::string name, const ScalarField& field) {
  return {std::move(name), field, IsFloat(field.datatype) ? 1.0 : kNanosecond_s,
          PointTimeZero::kCloudStamp};
}

constexpr char kClockField[] = "timestamp";

struct KnownTime {
  const char* name;
  PointField::Datatype datatype;
};
constexpr KnownTime kKnownTimes[] = {
    {"time", PointField::kFloat32},       // Velodyne
    {"t", PointField::kUint32},           // Ouster
    {"time_stamp", PointField::kUint32},  // Autoware's PointXYZIRCAEDT
    {kClockField, PointField::kFloat64},  // Hesai, Robosense, Livox
    {"offset_time", PointField::kUint32}  // Livox's custom points
};

absl::StatusOr<PointTimeField> ReadTimeField(const PointCloud2View& cloud,
                                             const PointField& field) {
  VOXLOC_ASSIGN_OR_RETURN(const ScalarField scalar, ReadScalarField(cloud, field));
  if (field.name == kClockField) return ClockTime(cloud, field.name, scalar);
  return OffsetTime(field.name, scalar);
}

absl::StatusOr<std::optional<PointTimeField>> SelectTimeField(const PointCloud2View& cloud,
                                                              const PointTimeChoice& choice) {
  if (!choice.name.empty()) {
    const PointField* field = Find(cloud, choice.name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the cloud must have the time field '", choice.name, "' (got ", FieldNames(cloud), ")"));
    }
    VOXLOC_ASSIGN_OR_RETURN(const PointTimeField time, ReadTimeField(cloud, *field));
    return std::optional<PointTimeField>(time);
  }
  if (!choice.any) return std::optional<PointTimeField>();
  for (const KnownTime& known : kKnownTimes) {
    const PointField* field = Find(cloud, known.name);
    if (field == nullptr || field->datatype != known.datatype) continue;
    VOXLOC_ASSIGN_OR_RETURN(const PointTimeField time, ReadTimeField(cloud, *field));
    return std::optional<PointTimeField>(time);
  }
  return std::optional<PointTimeField>();
}

}  // namespace

absl::StatusOr<PointLayout> ReadPointLayout(const PointCloud2View& cloud,
                                            const PointTimeChoice& time) {
  VOXLOC_TRY(CheckSizes(cloud));
  PointLayout layout;
  layout.points = size_t{cloud.width} * cloud.height;
  if (layout.points == 0) return layout;
  struct Axis {
    const char* name;
    ScalarField* field;
  };
  for (const Axis& axis : {Axis{"x", &layout.x}, Axis{"y", &layout.y}, Axis{"z", &layout.z}}) {
    VOXLOC_ASSIGN_OR_RETURN(*axis.field, ReadCoordinateField(cloud, axis.name));
  }
  if (layout.y.datatype != layout.x.datatype || layout.z.datatype != layout.x.datatype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fields 'x', 'y' and 'z' must be of one type (got ", NameOfType(layout.x.datatype), ", ",
        NameOfType(layout.y.datatype), " and ", NameOfType(layout.z.datatype), ")"));
  }
  VOXLOC_ASSIGN_OR_RETURN(layout.time, SelectTimeField(cloud, time));
  return layout;
}

}  // namespace voxloc::ros
