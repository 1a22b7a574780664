// SPDX-License-Identifier: Apache-2.0

#include <lzf.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// A float32 field behind the coordinates.
struct WrittenField {
  absl::string_view name;
  const std::vector<float>* values;
};

std::vector<WrittenField> ColumnsOf(const PointCloud& cloud,
                                    const std::vector<PcdExtraField>& extra_fields) {
  std::vector<WrittenField> columns;
  if (cloud.has_intensity()) columns.push_back({"intensity", &cloud.intensity});
  for (const PcdExtraField& field : extra_fields) columns.push_back({field.name, &field.values});
  return columns;
}

std::string HeaderOf(const PointCloud& cloud, const std::vector<WrittenField>& columns,
                     absl::string_view encoding, absl::string_view size,
                     absl::string_view viewpoint) {
  std::string fields;
  std::string sizes;
  std::string types;
  std::string counts;
  for (const WrittenField& column : columns) {
    absl::StrAppend(&fields, " ", column.name);
    sizes += " 4";
    types += " F";
    counts += " 1";
  }
  return absl::StrCat("# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z",
                      fields, "\nSIZE ", size, " ", size, " ", size, sizes, "\nTYPE F F F", types,
                      "\nCOUNT 1 1 1", counts, "\nWIDTH ", cloud.size(), "\nHEIGHT 1\nVIEWPOINT ",
                      viewpoint, " 1 0 0 0\nPOINTS ", cloud.size(), "\nDATA ", encoding, "\n");
}

template <typename T>
void AppendText(T value, std::string& out) {
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out.append(buffer, static_cast<size_t>(end.ptr - buffer));
}

template <typename T>
void AppendBytes(T value, std::string& out) {
  char buffer[sizeof(T)];
  std::memcpy(buffer, &value, sizeof(T));
  out.append(buffer, sizeof(T));
}

// x, y or z of a point as the file has it: a float, bit for bit, where the origin is zero or stands
// in VIEWPOINT, else a double.
template <typename T>
T Coordinate(const PointCloud& cloud, int axis, size_t i) {
  const float offset = (axis == 0 ? cloud.x : axis == 1 ? cloud.y : cloud.z)[i];
  if constexpr (std::is_same_v<T, float>) {
    return offset;
  } else {
    return cloud.origin[axis] + static_cast<double>(offset);
  }
}

template <typename T>
void AppendAscii(const PointCloud& cloud, const std::vector<WrittenField>& columns,
                 std::string& out) {
  for (size_t i = 0; i < cloud.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      if (axis > 0) out += ' ';
      AppendText(Coordinate<T>(cloud, axis, i), out);
    }
    for (const WrittenField& column : columns) {
      out += ' ';
      AppendText((*column.values)[i], out);
    }
    out += '\n';
  }
}

template <typename T>
void AppendRecords(const PointCloud& cloud, const std::vector<WrittenField>& columns,
                   std::string& out) {
  for (size_t i = 0; i < cloud.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) AppendBytes(Coordinate<T>(cloud, axis, i), out);
    for (const WrittenField& column : columns) AppendBytes((*column.values)[i], out);
  }
}

template <typename T>
std::string FieldByField(const PointCloud& cloud, const std::vector<WrittenField>& columns) {
  std::string out;
  out.reserve(cloud.size() * (3 * sizeof(T) + columns.size() * sizeof(float)));
  for (int axis = 0; axis < 3; ++axis) {
    for (size_t i = 0; i < cloud.size(); ++i) AppendBytes(Coordinate<T>(cloud, axis, i), out);
  }
  for (const WrittenField& column : columns) {
    for (const float value : *column.values) AppendBytes(value, out);
  }
  return out;
}

absl::Status AppendCompressed(const std::string& path, const std::string& plain, std::string& out) {
  // Room for data that does not compress: LZF then adds a byte to every 32.
  const uint64_t room = plain.size() + plain.size() / 16 + 64;
  if (room > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": a cloud of ", plain.size(),
        " bytes is too large for binary_compressed, whose sizes are 32 bits; use binary"));
  }
  std::string packed(static_cast<size_t>(room), '\0');
  const unsigned int size =
      plain.empty() ? 0
                    : lzf_compress(plain.data(), static_cast<unsigned int>(plain.size()),
                                   packed.data(), static_cast<unsigned int>(room));
  if (size == 0 && !plain.empty()) {
    return absl::InternalError(absl::StrCat(path, ": the cloud could not be compressed"));
  }
  AppendBytes(static_cast<uint32_t>(size), out);
  AppendBytes(static_cast<uint32_t>(plain.size()), out);
  out.append(packed, 0, size);
  return absl::OkStatus();
}

template <typename T>
absl::Status Write(const std::string& path, const PointCloud& cloud,
                   const std::vector<WrittenField>& columns, PcdEncoding encoding,
                   absl::string_view viewpoint = "0 0 0") {
  const absl::string_view size = std::is_same_v<T, float> ? "4" : "8";
  std::string out;
  switch (encoding) {
    case PcdEncoding::kAscii:
      out = HeaderOf(cloud, columns, "ascii", size, viewpoint);
      AppendAscii<T>(cloud, columns, out);
      break;
    case PcdEncoding::kBinary:
      out = HeaderOf(cloud, columns, "binary", size, viewpoint);
      out.reserve(out.size() + cloud.size() * (3 * sizeof(T) + columns.size() * sizeof(float)));
      AppendRecords<T>(cloud, columns, out);
      break;
    case PcdEncoding::kBinaryCompressed:
      out = HeaderOf(cloud, columns, "binary_compressed", size, viewpoint);
      VOXLOC_TRY(AppendCompressed(path, FieldByField<T>(cloud, columns), out));
      break;
  }
  return WriteFileBytes(path, out);
}

}  // namespace

absl::Status WritePcd(const std::string& path, const PointCloud& cloud, PcdEncoding encoding,
                      const std::vector<PcdExtraField>& extra_fields) {
  for (const PcdExtraField& field : extra_fields) {
    if (field.values.size() != cloud.size()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": field ", field.name, " must have ",
                                                     cloud.size(), " values (got ",
                                                     field.values.size(), ")"));
    }
  }
  try {
    const std::vector<WrittenField> columns = ColumnsOf(cloud, extra_fields);
    return cloud.origin.isZero(0.0) ? Write<float>(path, cloud, columns, encoding)
                                    : Write<double>(path, cloud, columns, encoding);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": no memory to write ", cloud.size(), " points"));
  }
}

absl::Status WritePcdOffsets(const std::string& path, const PointCloud& cloud) {
  try {
    std::string viewpoint;
    for (int axis = 0; axis < 3; ++axis) {
      if (axis > 0) viewpoint += ' ';
      AppendText(cloud.origin[axis], viewpoint);
    }
    return Write<float>(path, cloud, {}, PcdEncoding::kBinary, viewpoint);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": no memory to write ", cloud.size(), " points"));
  }
}

}  // namespace voxloc
