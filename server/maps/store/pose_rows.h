// SPDX-License-Identifier: Apache-2.0
//
// The last poses of vehicles in the database. SavePoses and ForgetPoses work within a transaction
// of their caller. Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSE_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_POSE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

[[nodiscard]] absl::Status SavePoses(SqlDatabase& database, absl::Span<const LastPose> poses,
                                     int64_t unix_ns);
// NotFound.
[[nodiscard]] absl::StatusOr<LastPose> ReadPose(SqlDatabase& database, absl::string_view vehicle);
// By vehicle.
[[nodiscard]] absl::StatusOr<std::vector<LastPose>> ReadPosesOfMap(SqlDatabase& database,
                                                                   absl::string_view map);

// Those that were saved after a time, and when the last of all was.
[[nodiscard]] absl::StatusOr<SavedPoses> ReadPosesSavedSince(SqlDatabase& database,
                                                             int64_t unix_ns);
[[nodiscard]] absl::Status ForgetPosesOfMap(SqlDatabase& database, absl::string_view map);
// Those that were saved longest ago, beyond `kept`; at most `limit` of them. Returns how many.
[[nodiscard]] absl::StatusOr<uint64_t> ForgetOldPoses(SqlDatabase& database, uint64_t kept,
                                                      uint64_t limit);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSE_ROWS_H_
