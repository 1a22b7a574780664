// SPDX-License-Identifier: Apache-2.0
//
// Looking for damage in a database of the store. Not thread-safe: as SqliteDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_STORE_DAMAGE_H_
#define VOXLOC_SERVER_MAPS_STORE_STORE_DAMAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/maps/store/sqlite_database.h"

namespace voxloc::server {

// What is wrong with the tables, in SQLite's words, but for the pieces of content, which are many
// and are checked when they are read. Takes a fraction of a second for 40,000 tiles.
[[nodiscard]] std::vector<std::string> FindDamage(SqliteDatabase& database);

// DataLoss: the database is damaged anywhere. Reads all of it.
[[nodiscard]] absl::Status CheckWhole(SqliteDatabase& database);

// `status`, which says that the database of a directory is damaged, with what can be done. Clients
// see it, so it does not name the directory.
[[nodiscard]] absl::Status WithRemedy(const absl::Status& status);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_STORE_DAMAGE_H_
