// SPDX-License-Identifier: Apache-2.0
//
// What a LAS file says of its coordinates, in its GeoTIFF keys (OGC 19-008r4) or its WKT (OGC
// 01-009 and 18-010), records of the user LASF_Projection: their coordinate reference system, and
// whether they are not metres. Codes of systems are not looked up, so a file that gives nothing
// else says nothing of its unit.
//
// Records stand before the points (variable length records) or, in 1.4, behind them (extended
// ones). Where both say something, the extended ones hold: a writer that changes the system of a
// file appends one. Records that a writer has superseded have another user and are passed over.

#ifndef VOXLOC_CORE_CLOUD_IO_LAS_CRS_H_
#define VOXLOC_CORE_CLOUD_IO_LAS_CRS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// A number of a LAS file: little-endian, aligned to nothing.
template <typename T>
[[nodiscard]] T LoadAt(const char* bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// What follows a code of EPSG where heights are above the ellipsoid: EPSG:25832+ellipsoidal.
inline constexpr absl::string_view kEllipsoidalHeights = "+ellipsoidal";

struct LasCrs {
  // WKT, or codes of EPSG: EPSG:25832, with that of the heights EPSG:25832+7837 or
  // kEllipsoidalHeights. Empty: the file states none, or one of its own keys, or it has heights
  // that are not metres without their code.
  std::string definition;
  // InvalidArgument: coordinates are degrees, or lengths in a unit that is not the metre; the
  // message has the command that converts the file.
  absl::Status units;
};

// `records`: the variable length records, `count` of them by the header; those that are not wholly
// in it are passed over.
[[nodiscard]] LasCrs ReadLasCrs(absl::string_view records, size_t count, absl::string_view name);

// Where the extended variable length records of a file are, by its header.
struct LasExtendedRecords {
  uint64_t offset = 0;
  uint64_t count = 0;
};

// Limits of extended records: how many there are, and the bytes of one of the reference system.
constexpr uint64_t kMaxExtendedRecords = 10'000;
constexpr uint64_t kMaxExtendedCrsBytes = uint64_t{1} << 20;

// Fills `out` with `count` bytes of the file from `offset` on, which are there.
using ReadFilePart = absl::FunctionRef<absl::Status(uint64_t offset, size_t count, char* out)>;

// What the extended records of a file of `file_bytes` say; an empty definition and OK where they
// say nothing. Reads their headers, and the content of those of the reference system.
// InvalidArgument: a record is not wholly in the file. ResourceExhausted: over a limit. Else the
// error of `read`.
[[nodiscard]] absl::StatusOr<LasCrs> ReadExtendedLasCrs(const LasExtendedRecords& records,
                                                        uint64_t file_bytes, ReadFilePart read,
                                                        absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_LAS_CRS_H_
