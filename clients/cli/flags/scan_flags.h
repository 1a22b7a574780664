// SPDX-License-Identifier: Apache-2.0
//
// How scans are read and thinned before they are sent: --leaf, --points, --min-range, --max-range,
// --record-floats.
// Thinning on this side saves the wire.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
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

// The flags of commands that take a recorded drive out of a bag of ROS: --bag, the topics and the
// frames.

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

struct BagFlags {
  std::vector<std::string> paths;  // empty: no bag
  std::string points_topic;
  std::string poses_topic;
  std::string map_frame;
  std::string base_frame;
};

// The option --bag; those of topics and frames need it.
CLI::Option* AddBagFlags(CLI::App* command, BagFlags* flags);

// What a command says of the drive beside these flags.
struct BagDriveFlags {
  std::string poses_file;     // tum; empty: the bag's poses
  std::string guesses_topic;  // empty: none
  std::string base_T_sensor;  // X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames
  size_t max_scans = 0;       // 0: all
};

// Opens the drive. Standard error shows the progress and then what was chosen, a line each.
[[nodiscard]] absl::StatusOr<std::unique_ptr<bag::Drive>> OpenDrive(const BagFlags& flags,
                                                                    const BagDriveFlags& drive);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_SCAN_FLAGS_H_
