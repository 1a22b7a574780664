// SPDX-License-Identifier: Apache-2.0

#include "clients/pointcloud2/point_cloud2.h"

#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

struct Datatype {
  const char* name;
  uint32_t size;
};
// PointField's, from 1.
constexpr Datatype kDatatypes[] = {{"INT8", 1},  {"UINT8", 1},  {"INT16", 2},   {"UINT16", 2},
                                   {"INT32", 4}, {"UINT32", 4}, {"FLOAT32", 4}, {"FLOAT64", 8}};

bool IsKnown(uint8_t datatype) { return datatype >= 1 && datatype <= std::size(kDatatypes); }

std::string NameOfType(uint8_t datatype) {
  if (IsKnown(datatype)) return kDatatypes[datatype - 1].name;
  return absl::StrCat("type ", static_cast<int>(datatype));
}

bool IsFloat(uint8_t datatype) {
  return datatype == PointField::kFloat32 || datatype == PointField::kFloat64;
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
  if (!IsKnown(field.datatype)) {
    return absl::InvalidArgumentError(absl::StrCat("the datatype of field '", field.name,
                                                   "' must be 1 to 8 (got ",
                                                   static_cast<int>(field.datatype), ")"));
  }
  const uint32_t size = kDatatypes[field.datatype - 1].size;
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
  if (!IsFloat(field->datatype)) {
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

constexpr double kNanosecond_s = 1e-9;
// Stamps below this are in seconds (up to 31,000 years), others in nanoseconds (from 1,000 s on).
constexpr double kMinNanosecondStamp = 1e12;
constexpr char kClockField[] = "timestamp";

struct KnownTime {
  const char* name;
  PointField::Datatype datatype;
};
constexpr KnownTime kKnownTimes[] = {
    {"time", PointField::kFloat32},       // Velodyne
    {"t", PointField::kUint32},           // Ouster
    {"t", PointField::kFloat32},          // voxloc simulate
    {"time_stamp", PointField::kUint32},  // Autoware's PointXYZIRCAEDT
    {kClockField, PointField::kFloat64},  // Hesai, Robosense, Livox
    {"offset_time", PointField::kUint32}  // Livox's custom points
};

// The field that `choice` asks for; null: none.
absl::StatusOr<const PointField*> FindTimeField(const PointCloud2View& cloud,
                                                const PointTimeChoice& choice) {
  if (!choice.name.empty()) {
    const PointField* field = Find(cloud, choice.name);
    if (field != nullptr) return field;
    return absl::InvalidArgumentError(absl::StrCat("the cloud must have the time field '",
                                                   choice.name, "' (got ", FieldNames(cloud), ")"));
  }
  if (!choice.any) return nullptr;
  for (const KnownTime& known : kKnownTimes) {
    const PointField* field = Find(cloud, known.name);
    if (field != nullptr && field->datatype == known.datatype) return field;
  }
  return nullptr;
}

// Of a cloud with points.
absl::StatusOr<std::optional<PointTimeField>> ReadTimeField(const PointCloud2View& cloud,
                                                            const PointTimeChoice& choice) {
  VOXLOC_ASSIGN_OR_RETURN(const PointField* field, FindTimeField(cloud, choice));
  if (field == nullptr) return std::optional<PointTimeField>();
  PointTimeField time;
  time.name = field->name;
  VOXLOC_ASSIGN_OR_RETURN(time.field, ReadScalarField(cloud, *field));
  bool nanoseconds = !IsFloat(time.field.datatype);
  if (field->name == kClockField) {
    time.zero = PointTimeZero::kClock;
    // The magnitude of the first point's value shows the unit.
    nanoseconds = nanoseconds || ReadScalar(cloud.data.data() + field->offset, time.field.datatype,
                                            cloud.is_bigendian) > kMinNanosecondStamp;
  }
  time.unit_s = nanoseconds ? kNanosecond_s : 1.0;
  return std::optional<PointTimeField>(std::move(time));
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
  VOXLOC_ASSIGN_OR_RETURN(layout.time, ReadTimeField(cloud, time));
  return layout;
}

}  // namespace voxloc::ros
