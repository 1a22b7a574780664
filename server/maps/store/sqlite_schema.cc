// SPDX-License-Identifier: Apache-2.0

// The store's schema in a database of SQLite.

#include <array>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/status/try.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

// Of the file's header (https://www.sqlite.org/fileformat.html), bytes.
constexpr size_t kSqliteHeaderBytes = 100;
constexpr size_t kUserVersionOffset = 60;
constexpr size_t kApplicationIdOffset = 68;
constexpr absl::string_view kSqliteMagic("SQLite format 3\0", 16);

int64_t HeaderNumber(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = (value << 8U) | static_cast<uint8_t>(byte);
  return value;
}

absl::Status CheckHeader(const std::string& path, int64_t application, int64_t version) {
  if (application != kStoreApplicationId) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a database of another program"));
  }
  if (version > StoreSchemaVersion()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " was made by a newer version of voxlocd: its schema has version ",
                     version, ", and this program knows versions up to ", StoreSchemaVersion()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareNewDatabase(SqliteDatabase& database) {
  // Freed pages go back to the file system, in steps that the store asks for. A database that has
  // the setting is only read: writing it again would fail on a full disk.
  constexpr int64_t kIncremental = 2;
  VOXLOC_ASSIGN_OR_RETURN(const auto mode, database.Number("PRAGMA auto_vacuum"));
  if (mode == kIncremental) return absl::OkStatus();
  return database.Execute("PRAGMA auto_vacuum = INCREMENTAL");
}

absl::Status CheckSchema(SqliteDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(const auto tables, database.Number("SELECT COUNT(*) FROM sqlite_master"));
  if (tables == 0) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const auto application, database.Number("PRAGMA application_id"));
  VOXLOC_ASSIGN_OR_RETURN(const auto version, database.Number("PRAGMA user_version"));
  return CheckHeader(database.path(), application, version);
}

absl::Status CheckSqliteMapStore(const std::string& directory) {
  const std::string path = directory + "/maps.db";
  std::ifstream file(path, std::ios::binary);
  std::array<char, kSqliteHeaderBytes> header{};
  file.read(header.data(), header.size());
  if (file.gcount() == 0) return absl::OkStatus();
  const absl::string_view bytes(header.data(), static_cast<size_t>(file.gcount()));
  if (bytes.size() < kSqliteHeaderBytes || !absl::StartsWith(bytes, kSqliteMagic)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no database of SQLite"));
  }
  const int64_t version = HeaderNumber(bytes.substr(kUserVersionOffset, 4));
  const int64_t application = HeaderNumber(bytes.substr(kApplicationIdOffset, 4));
  // Both are 0 where the tables are still in the log beside it.
  if (version == 0 && application == 0) return absl::OkStatus();
  return CheckHeader(path, application, version);
}

absl::Status MigrateSchema(SqliteDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(const auto version, database.Number("PRAGMA user_version"));
  if (version >= StoreSchemaVersion()) return absl::OkStatus();
  return database.Transaction(SqliteDatabase::Begin::kImmediate, [&]() -> absl::Status {
    for (const char* const step : StoreSchemaSteps().subspan(static_cast<size_t>(version))) {
      VOXLOC_TRY(database.Execute(step));
    }
    const std::string marks = absl::StrCat("PRAGMA application_id = ", kStoreApplicationId,
                                           "; PRAGMA user_version = ", StoreSchemaVersion());
    return database.Execute(marks.c_str());
  });
}

}  // namespace voxloc::server
