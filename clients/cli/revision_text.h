// SPDX-License-Identifier: Apache-2.0
//
// How revisions of a map and its events are shown.

#ifndef VOXLOC_CLIENTS_CLI_REVISION_TEXT_H_
#define VOXLOC_CLIENTS_CLI_REVISION_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

// One line a revision.
[[nodiscard]] std::string RevisionTableText(const std::vector<v1::MapRevision>& revisions);

// "active", "staged, tried by 2 vehicles", ...
[[nodiscard]] std::string RevisionStateText(const v1::MapRevision& revision);

// One line: when, what, which map and revision, and which tiles. `now_ns`: nanoseconds since the
// Unix epoch, for events that have no time of their own.
[[nodiscard]] std::string MapEventText(const v1::WatchMapResponse& event, int64_t now_ns);

// The revision that was in use before the one that is. NotFound: there was none, or the server does
// not keep it any more.
[[nodiscard]] absl::StatusOr<uint64_t> PreviousRevision(
    const std::string& map, const std::vector<v1::MapRevision>& revisions);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REVISION_TEXT_H_
