// SPDX-License-Identifier: Apache-2.0
//
// A copy of a database while it is being written to.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQLITE_BACKUP_H_
#define VOXLOC_SERVER_MAPS_STORE_SQLITE_BACKUP_H_

#include <sqlite3.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/maps/store/sqlite_database.h"

namespace voxloc::server {

// Copies in steps. What is written through the source between two steps is in the copy as well; no
// other connection may write. The file has its name from the beginning, empty until all is there.
class SqliteBackup {
 public:
  // AlreadyExists: there is such a file.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SqliteBackup>> Begin(SqliteDatabase& source,
                                                                           const std::string& path);
  SqliteBackup(const SqliteBackup&) = delete;
  SqliteBackup& operator=(const SqliteBackup&) = delete;
  // Leaves no file unless Finish has succeeded. Uses the source.
  ~SqliteBackup();

  // Copies some pages; returns which part of them is there, 1: all. Uses the source.
  [[nodiscard]] absl::StatusOr<double> Step();
  // After all pages. Uses the source.
  [[nodiscard]] absl::Status Finish();

 private:
  SqliteBackup(std::string path, std::string partial_path);

  const std::string path_;
  const std::string partial_path_;
  std::unique_ptr<SqliteDatabase> copy_;
  sqlite3_backup* backup_ = nullptr;
  bool finished_ = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQLITE_BACKUP_H_
