// SPDX-License-Identifier: Apache-2.0
//
// The points of cloud files: as columns of numbers at a fixed stride, which records one after
// another (PCD binary, PLY, KITTI, .npy) and field after field (PCD binary_compressed) both are,
// and as text, one point a line (ascii PCD and PLY).

#ifndef VOXLOC_CORE_CLOUD_IO_POINT_DATA_H_
#define VOXLOC_CORE_CLOUD_IO_POINT_DATA_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/text_scan.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// The number types that cloud files are made of. Binary files are little-endian, PLY and .npy in
// either.
enum class ScalarType {  // kScalarTraits has this order
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
};

[[nodiscard]] size_t SizeOf(ScalarType type);
[[nodiscard]] bool IsInteger(ScalarType type);

// Reads a value of one type from bytes of any alignment.
using ScalarLoader = double (*)(const char* bytes);
[[nodiscard]] ScalarLoader LoaderOf(ScalarType type, bool big_endian = false);

// One T for each of x, y, z and, optionally, intensity: an index, an offset, a loader.
template <typename T>
struct PointComponents {
  T x{};
  T y{};
  T z{};
  std::optional<T> intensity;

  // Applies make() to each.
  template <typename Make>
  [[nodiscard]] auto Map(const Make& make) const {
    PointComponents<decltype(make(x))> made{make(x), make(y), make(z), std::nullopt};
    if (intensity.has_value()) made.intensity = make(*intensity);
    return made;
  }
};

using PointFields = PointComponents<size_t>;  // indices into a list of names

// Most fields of a point; a coloured, labelled scan with normals has about 20.
constexpr size_t kMaxPointFields = 1024;

// Names are compared without regard to case; `scalar_intensity` (CloudCompare) counts as intensity.
// InvalidArgument when a coordinate is missing or named twice, or there are too many fields.
[[nodiscard]] absl::StatusOr<PointFields> FindPointFields(const std::vector<std::string>& names);

struct Column {
  ScalarType type = ScalarType::kFloat32;
  const char* first = nullptr;
  size_t stride_bytes = 0;
  bool big_endian = false;
};

struct PointColumns : PointComponents<Column> {
  size_t count = 0;  // of values in every column; checked by the caller
};

// The position of a number in a record of a record array.
struct RecordField {
  ScalarType type = ScalarType::kFloat32;
  size_t offset_bytes = 0;
};
struct RecordLayout : PointComponents<RecordField> {
  size_t record_bytes = 0;
  bool big_endian = false;

  // The columns of `count` records at `first`.
  [[nodiscard]] PointColumns ColumnsOf(const char* first, size_t count) const;
};

// Records of `count` numbers of one type: x y z and, from 4 on, intensity.
[[nodiscard]] RecordLayout ScalarRecords(ScalarType type, size_t count);

// Float32 coordinates keep their values as they are; of the others the origin is chosen from the
// first point that is finite: zero where float32 is good enough there, else that point rounded to
// whole metres.
[[nodiscard]] PointCloud CloudFromColumns(const PointColumns& columns);

// The same for a part of a cloud: `origin` is that of the parts before it, where one was chosen,
// and is set where this part is the first to choose one.
[[nodiscard]] PointCloud CloudFromColumns(const PointColumns& columns,
                                          std::optional<Eigen::Vector3d>* origin);

// Where the numbers of a point stand in a line, counted in words from 0.
struct AsciiLayout : PointComponents<size_t> {
  size_t words_per_line = 0;
};

// Takes `count` lines off `lines`, blank ones not counted, of which `remaining_bytes` are left;
// errors name `name` and the line.
[[nodiscard]] absl::StatusOr<PointCloud> ParseAsciiPoints(LineScanner& lines,
                                                          size_t remaining_bytes, size_t count,
                                                          const AsciiLayout& layout,
                                                          absl::string_view name);

// The next line that is not blank; false at the end.
[[nodiscard]] bool NextNonBlankLine(LineScanner& lines, absl::string_view& line);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_POINT_DATA_H_
