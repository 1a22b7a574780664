// SPDX-License-Identifier: Apache-2.0
//
// How scans are read and thinned before they are sent: --leaf, --points, --min-range, --max-range,
// --record-floats.
// Thinning on this side saves the wire.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/cloud.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct ScanFlags {
  double leaf_m = 0.0;
  size_t points = 0;
  double min_range_m = 0.0;
  double max_range_m = 0.0;  // 0: no limit
  uint64_t seed = 0;
  size_t record_floats = 0;  // of .bin files; 0: by their names and values

  [[nodiscard]] FilterOptions filter() const;
  [[nodiscard]] CloudReadOptions read() const;
  // The same for the server to do.
  void AddTo(v1::ScanFilter* filter) const;
};

void AddScanFlags(CLI::App* command, ScanFlags* flags);

// FILE, for commands that take one scan.
void AddScanFile(CLI::App* command, std::string* file);

// A scan as its file places it, filtered. The error names the file.
[[nodiscard]] absl::StatusOr<PointCloud> ReadScan(const std::string& path, const ScanFlags& flags);

// The scan of a command that takes one. Prints RemarksOnClouds.
[[nodiscard]] absl::StatusOr<PointCloud> LoadScan(const std::string& path, const ScanFlags& flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_
