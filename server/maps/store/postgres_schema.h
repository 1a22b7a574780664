// SPDX-License-Identifier: Apache-2.0
//
// The store's schema in a database of PostgreSQL: the tables of store_schema.h, in the schema (the
// namespace) that the connection's search_path names first, and a table of its own with one row,
// store_state:
//   version     how many steps of the schema it has
//   generation  how often maps were changed; changed_unix_ns: when last
// The row is also the lock of all who write: they take turns, as writers of SQLite do.
// Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_SCHEMA_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_SCHEMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/maps/store/postgres_database.h"

namespace voxloc::server {

// Creates the tables, or brings an older version forward, in one transaction; others who do so
// meanwhile are waited for. FailedPrecondition: the tables are of a newer version or of another
// program, or the database does not keep UTF-8.
[[nodiscard]] absl::Status PreparePostgresSchema(PostgresDatabase& database);

// FailedPrecondition: the tables are of a newer version than this program's.
[[nodiscard]] absl::Status CheckPostgresVersion(int64_t version);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_SCHEMA_H_
