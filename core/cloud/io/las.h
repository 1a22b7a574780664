// SPDX-License-Identifier: Apache-2.0
//
// LAS 1.2 to 1.4 (ASPRS, "LAS Specification 1.4 - R15"), point data record formats 0 to 10: the
// header, checked in itself and against the size of the file, and the points.
//
// A coordinate is the record's int32 times the header's scale plus its offset, in double, taken as
// metres of the map's frame, unless a caller transforms them (las_crs.h). Points with the
// flag "withheld", which their producer has deleted, are left out; those of every class are kept.
// Compressed files (LAZ) are refused.

#ifndef VOXLOC_CORE_CLOUD_IO_LAS_H_
#define VOXLOC_CORE_CLOUD_IO_LAS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/las_crs.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct LasHeader {
  Eigen::Vector3d scale_m = Eigen::Vector3d::Ones();
  Eigen::Vector3d offset_m = Eigen::Vector3d::Zero();
  uint64_t data_offset = 0;  // of the first record
  size_t record_bytes = 0;
  uint64_t points = 0;  // withheld ones too
  LasCrs crs;
  LasExtendedRecords extended;
  // The bit "withheld" in the flags of a record.
  uint8_t withheld_mask = 0;
};

// The size of the largest header, that of version 1.4.
constexpr size_t kMaxLasHeaderBytes = 375;

// `head`: the first bytes of a file of `file_bytes`, all of them or at least kMaxLasHeaderBytes;
// variable length records behind them, and extended ones, are not read.
[[nodiscard]] absl::StatusOr<LasHeader> ParseLasHeader(absl::string_view head, uint64_t file_bytes,
                                                       absl::string_view name);

// Replaces `crs` by what the extended records say where they say something: ReadExtendedLasCrs.
[[nodiscard]] absl::Status TakeExtendedRecords(uint64_t file_bytes, ReadFilePart read,
                                               absl::string_view name, LasHeader& header);

// The points of `count` records; `origin` as CloudFromColumns has it (point_data.h).
[[nodiscard]] PointCloud CloudFromLas(const LasHeader& header, const char* records, size_t count,
                                      std::optional<Eigen::Vector3d>* origin);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_LAS_H_
