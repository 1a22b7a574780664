// SPDX-License-Identifier: Apache-2.0
//
// How scans fitted the tiles, in the database. What changes something works within a transaction of
// its caller. Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_FIT_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_FIT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// Those of maps that are not there are left out.
[[nodiscard]] absl::Status SaveFitRows(SqlDatabase& database, absl::Span<const StoredTileFit> fits);
// By tile id, then digest.
[[nodiscard]] absl::StatusOr<std::vector<StoredTileFit>> ReadFitRows(SqlDatabase& database,
                                                                     absl::string_view map);
[[nodiscard]] absl::Status ForgetFitRowsOfMap(SqlDatabase& database, absl::string_view map);

// Forgets those that were used longest ago beyond so many, but at most `limit` of them; returns how
// many it has forgotten.
[[nodiscard]] absl::StatusOr<uint64_t> ForgetOldFitRows(SqlDatabase& database, uint64_t kept,
                                                        uint64_t limit);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_FIT_ROWS_H_
