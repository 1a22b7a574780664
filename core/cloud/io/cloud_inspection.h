// SPDX-License-Identifier: Apache-2.0
//
// What a cloud file says of itself, without its points. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_CLOUD_IO_CLOUD_INSPECTION_H_
#define VOXLOC_CORE_CLOUD_IO_CLOUD_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/record_floats.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct CloudFileInfo {
  CloudFormat format = CloudFormat::kPcd;
  // As the header promises them; 0 for a file without bytes.
  uint64_t points = 0;
  // Of a PCD; the identity where there is none.
  Pose viewpoint;
  // Of a .bin file; nullopt: another format.
  std::optional<RecordFloats> record;
};

// Reads the file's beginning only, or samples of a .bin file. Errors are those of ReadCloud; what
// only the points would show, they do not have.
[[nodiscard]] absl::StatusOr<CloudFileInfo> InspectCloud(const std::string& path,
                                                         const CloudReadOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_INSPECTION_H_
