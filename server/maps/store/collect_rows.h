// SPDX-License-Identifier: Apache-2.0
//
// The steps by which the store frees what is no longer needed. Each works within a transaction of
// its caller and takes a bounded time. Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_COLLECT_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_COLLECT_ROWS_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// By the store's clock: what was last changed, or wanted, at these times or before goes.
struct CollectLimits {
  uint32_t retained_revisions = 0;
  int64_t withdrawn_unix_ns = 0;
  int64_t requests_unix_ns = 0;
  int64_t unreferenced_unix_ns = 0;
  uint64_t max_last_poses = 0;
  uint64_t max_tile_fits = 0;
};

// Forgets revisions, and rows of tiles that no revision has that can still be read.
[[nodiscard]] absl::Status ForgetRevisions(SqlDatabase& database, const CollectLimits& limits,
                                           CollectReport& report);

// Frees content that no revision refers to, but not the uploads that are under way.
[[nodiscard]] absl::Status FreeUnreferenced(SqlDatabase& database, const CollectLimits& limits,
                                            const std::set<int64_t>& uploads,
                                            CollectReport& report);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_COLLECT_ROWS_H_
