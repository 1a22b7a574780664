// SPDX-License-Identifier: Apache-2.0
//
// The MapStore on PostgreSQL: one database for several servers, each of which may write.
//
// Writers take turns over all servers; a commit is refused where another one was first (Aborted). A
// commit lasts as long as what the database calls committed: `synchronous_commit` is not off for
// it. Times are those of the database's clock, so that the servers' own do not matter. A change of
// maps is announced to the others on the channel `voxloc_maps`.
//
// While the database does not respond, calls fail with Unavailable: first after the timeouts, then
// immediately, except for one connection attempt every few seconds. Recovery is automatic.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_MAP_STORE_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_MAP_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/maps/store/map_store.h"

namespace voxloc::server {

// Where the database is, and how long it may take.
struct PostgresOptions {
  std::string url;  // postgresql://USER@HOST:PORT/DATABASE?..., without a password
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration request_timeout = absl::Seconds(10);  // of a statement
  uint32_t max_readers = 8;  // connections that read, in addition to the two for the rest
};

// Whether libpq understands it; connects to nothing. InvalidArgument, beginning with store.url: it
// does not.
[[nodiscard]] absl::Status CheckPostgresUrl(const std::string& url);

// Connects, and creates the tables or brings them forward. Unavailable: the database cannot be
// connected to; FailedPrecondition: its schema is newer than this program's, or the user may not
// change it.
[[nodiscard]] absl::StatusOr<std::unique_ptr<MapStore>> OpenPostgresMapStore(
    const PostgresOptions& database, const MapStoreOptions& options);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_MAP_STORE_H_
