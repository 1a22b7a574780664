// SPDX-License-Identifier: Apache-2.0
//
// What a LAS file says of its coordinates, in its GeoTIFF keys (OGC 19-008r4) or its WKT (OGC
// 01-009 and 18-010), variable length records of the user LASF_Projection: their coordinate
// reference system, and whether they are not metres. Codes of systems are not looked up, so a file
// that gives nothing else says nothing of its unit.

#ifndef VOXLOC_CORE_CLOUD_IO_LAS_CRS_H_
#define VOXLOC_CORE_CLOUD_IO_LAS_CRS_H_

#include <cstddef>
#include <cstring>
#include <string>

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

struct LasCrs {
  // WKT, or codes of EPSG: EPSG:25832, with that of the heights EPSG:25832+7837. Empty: the file
  // states none, or one of its own keys, or it has heights that are not metres without their code.
  std::string definition;
  // InvalidArgument: coordinates are degrees, or lengths in a unit that is not the metre; the
  // message has the command that converts the file.
  absl::Status units;
};

// `records`: the variable length records, `count` of them by the header; those that are not wholly
// in it are passed over.
[[nodiscard]] LasCrs ReadLasCrs(absl::string_view records, size_t count, absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_LAS_CRS_H_
