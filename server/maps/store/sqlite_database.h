// SPDX-License-Identifier: Apache-2.0
//
// The SqlDatabase of SQLite: a connection to a file, or to a database in memory, and a transaction
// around a function.
//
// Codes of errors: ResourceExhausted (the disk or memory is full), FailedPrecondition (the file
// cannot be opened or written), DataLoss (it is damaged, or no database), Unavailable (another
// process has it locked), Internal (all else). Messages name the file and have SQLite's text.
// Not thread-safe: one thread at a time uses a connection and what belongs to it.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQLITE_DATABASE_H_
#define VOXLOC_SERVER_MAPS_STORE_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

class SqliteDatabase : public SqlDatabase {
 public:
  enum class Access { kRead, kWrite, kCreate };

  // `path` as SQLite has it: ":memory:" is a database in memory. The file is not read yet.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path,
                                                                            Access access);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase() override;

  [[nodiscard]] absl::Status Execute(const char* sql) override;

  // Runs `body` between BEGIN and COMMIT; where either of them fails, nothing of it remains.
  // kImmediate: of a writer, which waits for its turn at the beginning.
  enum class Begin { kDeferred, kImmediate };
  [[nodiscard]] absl::Status Transaction(Begin begin, absl::FunctionRef<absl::Status()> body);

  [[nodiscard]] int64_t changes() const override { return sqlite3_changes(handle_); }
  // Whether an fsync has ever failed. Data written since the previous successful one may be lost,
  // although it can still be read.
  [[nodiscard]] bool sync_failed() const { return sync_failed_; }
  // Pages of the write-ahead log after the last commit of this connection.
  [[nodiscard]] int wal_pages() const { return wal_pages_; }
  // Adds what is damaged in a table and its indexes, or anywhere in the database (`table` is
  // empty), in SQLite's words; at most 8 findings.
  void CheckIntegrity(const std::string& table, std::vector<std::string>& findings);
  // Moves the log's pages into the database; `truncate`: all of them, and empties the log.
  [[nodiscard]] absl::Status Checkpoint(bool truncate);
  // Writes a copy to a new file in steps, each with `turn` (null: nobody waits for it). What is
  // written through this connection between two steps is in the copy as well; no other connection
  // may write. Errors and `progress` as MapStore::Backup.
  [[nodiscard]] absl::Status Backup(const std::string& path, absl::Mutex* turn,
                                    absl::FunctionRef<bool(double)> progress);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Its file's name without the folder, for errors that reach clients.
  [[nodiscard]] std::string name() const override { return path_.substr(path_.rfind('/') + 1); }
  [[nodiscard]] sqlite3* handle() const { return handle_; }

  // The error of a result code of SQLite on this connection.
  [[nodiscard]] absl::Status Error(int code);

 private:
  class Rows;

  SqliteDatabase(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  // Of Backup: `path` is removed at first.
  [[nodiscard]] absl::Status CopyTo(const std::string& path, absl::Mutex* turn,
                                    absl::FunctionRef<bool(double)> progress);
  [[nodiscard]] std::unique_ptr<SqlRows> Start(const char* sql,
                                               absl::Span<const SqlValue> values) override;

  const std::string path_;
  sqlite3* const handle_;
  bool sync_failed_ = false;
  int wal_pages_ = 0;
  // Prepared ones that no query has in use, by their text. What is asked is written in the sources,
  // so there are not many.
  std::map<std::string, std::vector<sqlite3_stmt*>, std::less<>> idle_statements_;
};

// Rewrites the write-ahead log of an earlier run with its own content, and syncs it. After a failed
// fsync the system may consider pages clean that exist only in memory; they would be lost with a
// power failure. The database must not be open. Does nothing if there is no log.
[[nodiscard]] absl::Status RewriteWal(const std::string& database_path);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQLITE_DATABASE_H_
