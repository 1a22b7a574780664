// SPDX-License-Identifier: Apache-2.0
//
// How scans are read and thinned before they are sent: --leaf, --points, --min-range, --max-range,
// --record-floats. Thinning on this side saves bytes on the network. And which scans of a bag of
// ROS are taken: --bag, the topics and the frames.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/cloud.pb.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

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

// What the filter keeps of a scan. The error has the scan's name.
[[nodiscard]] absl::StatusOr<PointCloud> FilterScan(const std::string& name, const PointCloud& scan,
                                                    const FilterOptions& filter);

// A scan as its file places it, filtered. The error names the file.
[[nodiscard]] absl::StatusOr<PointCloud> ReadScan(const std::string& path, const ScanFlags& flags);

// The scan of a command that takes one. Prints DescribeClouds.
[[nodiscard]] absl::StatusOr<PointCloud> LoadScan(const std::string& path, const ScanFlags& flags);

// --bag, which fills `paths`, and the flags of topics and frames, which need it.
CLI::Option* AddBagFlags(CLI::App* command, bag::DriveOptions* options);

// Opens a recorded drive, at the mount `base_T_sensor`, X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's
// frames. Standard error shows the progress and then what was chosen, a line each.
[[nodiscard]] absl::StatusOr<std::unique_ptr<bag::Drive>> OpenDrive(
    bag::DriveOptions options, const std::string& base_T_sensor);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_
