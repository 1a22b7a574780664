// SPDX-License-Identifier: Apache-2.0
//
// MapStoreOptions: what a MapStore keeps, and for how long. PostgresOptions: where a store in
// PostgreSQL is, and how long it may take. Plain values.

#ifndef VOXLOC_SERVER_MAPS_STORE_STORE_OPTIONS_H_
#define VOXLOC_SERVER_MAPS_STORE_STORE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace voxloc::server {

struct MapStoreOptions {
  uint32_t retained_revisions = 10;  // of each map that were activated, the active one included
  // Of content that no revision refers to, compressed.
  uint64_t max_unreferenced_bytes = uint64_t{64} << 30;
  double unreferenced_for_s = 24 * 3600.0;  // then it expires
  double withdrawn_for_s =
      24 * 3600.0;  // then a withdrawn revision, or a deleted map, is forgotten
  // How long the request of a revision beyond retention is still answered as repeated.
  double requests_for_s = 24 * 3600.0;
  uint32_t max_staged_revisions = 4;  // of each map
  uint32_t max_last_poses = 100000;   // of all vehicles; Collect drops the oldest
  uint32_t max_tile_fits = 100000;    // of all maps; likewise
  // Clock in nanoseconds since the Unix epoch; empty: the system's or, for a shared database, the
  // database's. Setting it back makes nothing expire early.
  std::function<int64_t()> unix_ns;
};

struct PostgresOptions {
  std::string url;  // postgresql://USER@HOST:PORT/DATABASE?..., without a password
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration request_timeout = absl::Seconds(10);  // of a statement
  uint32_t max_readers = 8;  // connections that read, besides the two for the rest
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_STORE_OPTIONS_H_
