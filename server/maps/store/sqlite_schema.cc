// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sqlite_schema.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {

absl::Status PrepareNewDatabase(SqliteDatabase& database) {
  // Freed pages go back to the file system, in steps that the store asks for.
  return database.Execute("PRAGMA auto_vacuum = INCREMENTAL");
}

absl::Status CheckSchema(SqliteDatabase& database) {
  const auto tables = database.Number("SELECT COUNT(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  if (*tables == 0) return absl::OkStatus();
  const auto application = database.Number("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != kStoreApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat(database.path(), " is a database of another program"));
  }
  const auto version = database.Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > StoreSchemaVersion()) {
    return absl::FailedPreconditionError(absl::StrCat(
        database.path(), " was made by a newer version of voxlocd: its schema has version ",
        *version, ", and this program knows versions up to ", StoreSchemaVersion()));
  }
  return absl::OkStatus();
}

absl::Status MigrateSchema(SqliteDatabase& database) {
  const auto version = database.Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version >= StoreSchemaVersion()) return absl::OkStatus();
  return database.Transaction(SqliteDatabase::Begin::kImmediate, [&]() -> absl::Status {
    for (const char* const step : StoreSchemaSteps().subspan(static_cast<size_t>(*version))) {
      if (absl::Status status = database.Execute(step); !status.ok()) return status;
    }
    const std::string marks = absl::StrCat("PRAGMA application_id = ", kStoreApplicationId,
                                           "; PRAGMA user_version = ", StoreSchemaVersion());
    return database.Execute(marks.c_str());
  });
}

}  // namespace voxloc::server
