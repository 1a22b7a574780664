// SPDX-License-Identifier: Apache-2.0
//
// Which of a file's named fields are the coordinates and the intensity.

#ifndef VOXLOC_CORE_CLOUD_IO_POINT_FIELDS_H_
#define VOXLOC_CORE_CLOUD_IO_POINT_FIELDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace voxloc {

// The number types that cloud files are made of. Binary files are little-endian, and PLY in either.
enum class ScalarType {
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

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_POINT_FIELDS_H_
