// SPDX-License-Identifier: Apache-2.0
//
// The last poses of vehicles in the database. SavePoses and ForgetPoses work within a transaction
// of their caller. Not thread-safe: as SqliteDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSE_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_POSE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sqlite_database.h"

namespace voxloc::server {

[[nodiscard]] absl::Status SavePoses(SqliteDatabase& database, absl::Span<const LastPose> poses,
                                     int64_t unix_ns);
// NotFound.
[[nodiscard]] absl::StatusOr<LastPose> ReadPose(SqliteDatabase& database,
                                                absl::string_view vehicle);
// By vehicle.
[[nodiscard]] absl::StatusOr<std::vector<LastPose>> ReadPosesOfMap(SqliteDatabase& database,
                                                                   absl::string_view map);

[[nodiscard]] absl::Status ForgetPosesOfMap(SqliteDatabase& database, absl::string_view map);
// Those that were saved longest ago, beyond `kept`; at most `limit` of them. Returns how many.
[[nodiscard]] absl::StatusOr<uint64_t> ForgetOldPoses(SqliteDatabase& database, uint64_t kept,
                                                      uint64_t limit);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSE_ROWS_H_
