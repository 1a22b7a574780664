// SPDX-License-Identifier: Apache-2.0
//
// The schema of the map store as migration steps, and their application to SQLite and PostgreSQL.
//
// Types and statements keep to what SQLite and PostgreSQL both have. Unsigned numbers are kept as
// BIGINT, truth as SMALLINT 0 or 1, names as TEXT, times as nanoseconds since the Unix epoch. Where
// the two differ, the steps say what SQLite says: BLOB and AUTOINCREMENT, which PostgreSQL's
// dialect has other words for.
//
// PostgreSQL has the tables in the schema (the namespace) that the connection's search_path names
// first, and a table of its own with one row, store_state:
//   version     how many steps of the schema it has
//   generation  how often maps were changed; changed_unix_ns: when last
// The row is also the lock of all who write: they take turns, as writers of SQLite do.
//
// Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_STORE_SCHEMA_H_
#define VOXLOC_SERVER_MAPS_STORE_STORE_SCHEMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

class PostgresDatabase;
class SqliteDatabase;

// Of this program: how many steps there are.
[[nodiscard]] int64_t StoreSchemaVersion();

// FailedPrecondition: the schema of this database is of a newer version than this program's.
[[nodiscard]] absl::Status CheckSchemaVersion(absl::string_view database, int64_t version);

// "vxlm", in the header of a file of SQLite.
inline constexpr int64_t kStoreApplicationId = 0x76786c6d;

// Whether it is a store of this version (PRAGMA user_version) or an older one; one without any
// table is. Otherwise FailedPrecondition: it was made by a newer version, or by another program.
[[nodiscard]] absl::Status CheckSchema(SqliteDatabase& database);

// Creates what is missing, or brings an older version forward, in one transaction.
[[nodiscard]] absl::Status MigrateSchema(SqliteDatabase& database);

// The same in PostgreSQL; others who do so meanwhile are waited for. FailedPrecondition: the tables
// are of a newer version or of another program, or the database does not keep UTF-8.
[[nodiscard]] absl::Status PreparePostgresSchema(PostgresDatabase& database);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_STORE_SCHEMA_H_
