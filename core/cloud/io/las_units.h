// SPDX-License-Identifier: Apache-2.0
//
// Whether a LAS file says that its coordinates are not metres: in its GeoTIFF keys (OGC 19-008r4)
// or its WKT (OGC 01-009 and 18-010), variable length records of the user LASF_Projection. Codes of
// coordinate reference systems are not looked up, so a file that gives nothing else says nothing.

#ifndef VOXLOC_CORE_CLOUD_IO_LAS_UNITS_H_
#define VOXLOC_CORE_CLOUD_IO_LAS_UNITS_H_

#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// A number of a LAS file: little-endian, aligned to nothing.
template <typename T>
[[nodiscard]] T LoadAt(const char* bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// `records`: the variable length records, `count` of them by the header; those that are not wholly
// in it are passed over. InvalidArgument: coordinates are degrees, or lengths in a unit that is not
// the metre; the message has the command that converts the file.
[[nodiscard]] absl::Status CheckLasUnits(absl::string_view records, size_t count,
                                         absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_LAS_UNITS_H_
