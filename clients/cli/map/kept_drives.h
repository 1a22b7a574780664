// SPDX-License-Identifier: Apache-2.0
//
// The drives of the scans that a server has kept for map updates (map_update.max_bytes).

#ifndef VOXLOC_CLIENTS_CLI_MAP_KEPT_DRIVES_H_
#define VOXLOC_CLIENTS_CLI_MAP_KEPT_DRIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/recorded_drives.h"
#include "voxloc/v1/capture.pb.h"

namespace voxloc::cli {

// Divides the scans into drives: those of one session, until it gave none for a minute, because it
// was away from what has changed, or for ten minutes at most, because a bus comes back. The oldest
// first, in drives and of drives.
[[nodiscard]] std::vector<std::vector<v1::CaptureInfo>> DrivesOf(
    absl::Span<const v1::CaptureInfo> kept);

// Appends the drives that the server has of this map. Scans that the server deletes meanwhile are
// left out. InvalidArgument: it has none, or more scans than kMaxProposalScans; errors of the
// server.
[[nodiscard]] absl::Status AddKeptDrives(const ServerFlags& server, const std::string& map,
                                         RecordedDrives& all);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_KEPT_DRIVES_H_
