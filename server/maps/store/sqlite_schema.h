// SPDX-License-Identifier: Apache-2.0
//
// The store's schema in a database of SQLite. Not thread-safe: as SqliteDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQLITE_SCHEMA_H_
#define VOXLOC_SERVER_MAPS_STORE_SQLITE_SCHEMA_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/maps/store/sqlite_database.h"

namespace voxloc::server {

// "vxlm", in the header of the file.
inline constexpr int64_t kStoreApplicationId = 0x76786c6d;

// Before anything is written to a new database: settings that it keeps for life.
[[nodiscard]] absl::Status PrepareNewDatabase(SqliteDatabase& database);

// Whether it is a store of this version (PRAGMA user_version) or an older one; one without any
// table is. Otherwise FailedPrecondition: it was made by a newer version, or by another program.
[[nodiscard]] absl::Status CheckSchema(SqliteDatabase& database);

// The same of a file that nothing opens, by its header: OK where there is none. What is only in the
// log beside it is not seen.
[[nodiscard]] absl::Status CheckSqliteFile(const std::string& path);

// Creates what is missing, or brings an older version forward, in one transaction.
[[nodiscard]] absl::Status MigrateSchema(SqliteDatabase& database);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQLITE_SCHEMA_H_
