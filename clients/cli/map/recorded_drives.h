// SPDX-License-Identifier: Apache-2.0
//
// The recorded drives that `voxloc map propose` reads, by a list in a file:
//
//   [{"vehicle": "bus-7", "scans": "monday/scans", "poses": "monday/poses.txt",
//     "pose_format": "tum", "base_t_sensor": "1.2,0,1.9,0,0,0", "start_s": 1767600000},
//    {"vehicle": "bus-8", "bag": "tuesday.mcap", "points": "/points", "poses_topic": "/pose"},
//    {"server": "b:50051"}]
//
// Paths are relative to the file. A server stands for the drives that it has kept.

#ifndef VOXLOC_CLIENTS_CLI_MAP_RECORDED_DRIVES_H_
#define VOXLOC_CLIENTS_CLI_MAP_RECORDED_DRIVES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/flags/server_flags.h"
#include "core/map_update/map_proposal.h"

namespace voxloc::cli {

struct RecordedDrive {
  std::string name;  // of its scans or its bag
  std::string vehicle;
  int64_t start_ns = 0;
  size_t scans = 0;  // that were kept
};

struct RecordedDrives {
  std::vector<RecordedDrive> drives;
  std::vector<UpdateScan> scans;  // their pass is the number of the drive
};

// Reads the drives through this map that the file lists; "server" in place of a path: those that
// the server of `server` has kept (AddKeptDrives). Keeps a scan of each metre that a vehicle moves,
// thinned, in 100 kB at most. InvalidArgument: the list is malformed, of which the message says
// where; a drive cannot be read; or its scans are more than kMaxProposalScans together with the
// others'. Errors of servers.
inline constexpr size_t kMaxProposalScans = 100'000;
[[nodiscard]] absl::StatusOr<RecordedDrives> ReadRecordedDrives(const std::string& path,
                                                                const std::string& map,
                                                                const ServerFlags& server);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_RECORDED_DRIVES_H_
