// SPDX-License-Identifier: Apache-2.0
//
// SQLite with absl::Status: a connection, a query on it, and a transaction around a function.
//
// Codes of errors: ResourceExhausted (the disk or memory is full), FailedPrecondition (the file
// cannot be opened or written), DataLoss (it is damaged, or no database), Unavailable (another
// process has it locked), Internal (all else). Messages name the file and have SQLite's text.
// Not thread-safe: one thread at a time uses a connection and what belongs to it.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQLITE_DATABASE_H_
#define VOXLOC_SERVER_MAPS_STORE_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/checksum/sha256.h"

namespace voxloc::server {

// Bytes of a parameter, which must outlive the query.
struct SqliteBlob {
  absl::string_view bytes;
};

class SqliteDatabase {
 public:
  enum class Access { kRead, kWrite, kCreate };

  // `path` as SQLite has it: ":memory:" is a database in memory. The file is not read yet.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path,
                                                                            Access access);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  // One statement or several, without parameters and without rows.
  [[nodiscard]] absl::Status Execute(const char* sql);
  // One statement with parameters 1, 2, ...; its rows are dropped.
  template <typename... Values>
  [[nodiscard]] absl::Status Run(const char* sql, const Values&... values);
  // The number in the first column of the only row of a statement. Internal: there is none.
  template <typename... Values>
  [[nodiscard]] absl::StatusOr<int64_t> Number(const char* sql, const Values&... values);

  // Runs `body` between BEGIN and COMMIT; where either of them fails, nothing of it remains.
  // kImmediate: of a writer, which waits for its turn at the beginning.
  enum class Begin { kDeferred, kImmediate };
  [[nodiscard]] absl::Status Transaction(Begin begin, absl::FunctionRef<absl::Status()> body);

  // Rows that the last statement changed.
  [[nodiscard]] int64_t changes() const;
  // Whether the file system has failed once to put what was written on the disk. What was written
  // since the sync before may be lost then, although reading still finds it.
  [[nodiscard]] bool sync_failed() const { return sync_failed_; }
  // Pages of the write-ahead log after the last commit of this connection.
  [[nodiscard]] int wal_pages() const { return wal_pages_; }
  // Moves the log's pages into the database; `truncate`: all of them, and empties the log.
  [[nodiscard]] absl::Status Checkpoint(bool truncate);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Its file's name without the folder, for errors that reach clients.
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }
  [[nodiscard]] sqlite3* handle() const { return handle_; }

  // The error of a result code of SQLite on this connection.
  [[nodiscard]] absl::Status Error(int code);

 private:
  friend class SqliteQuery;

  struct CachedStatement {
    sqlite3_stmt* statement = nullptr;
    bool in_use = false;
  };

  SqliteDatabase(std::string path, sqlite3* handle);

  const std::string path_;
  sqlite3* const handle_;
  bool sync_failed_ = false;
  int wal_pages_ = 0;
  // By their text. What is asked is written in the sources, so there are not many.
  std::map<std::string, CachedStatement, std::less<>> statements_;
};

// Whether the status says that the file is damaged, or could not be read.
[[nodiscard]] bool IsDamage(const absl::Status& status);

// The rows of one statement. Texts are copied when they are bound.
//
//   SqliteQuery query(database, "SELECT name FROM maps WHERE id = ?1", id);
//   while (query.Next()) Use(query.Bytes(0));
//   if (!query.status().ok()) return query.status();
class SqliteQuery {
 public:
  template <typename... Values>
  SqliteQuery(SqliteDatabase& database, const char* sql, const Values&... values)
      : SqliteQuery(Prepared{}, database, sql) {
    int index = 0;
    (Bind(++index, values), ...);
  }
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;
  ~SqliteQuery();

  // Goes to the next row, at first to the first one. False: there is none, or status() has an
  // error.
  [[nodiscard]] bool Next();
  [[nodiscard]] const absl::Status& status() const { return status_; }

  // Of the row, columns from 0. Bytes are valid until the next row.
  [[nodiscard]] bool IsNull(int column) const;
  [[nodiscard]] int64_t Int(int column) const;
  [[nodiscard]] uint64_t UInt(int column) const { return static_cast<uint64_t>(Int(column)); }
  [[nodiscard]] double Real(int column) const;
  [[nodiscard]] absl::string_view Bytes(int column) const;
  [[nodiscard]] std::string Text(int column) const { return std::string(Bytes(column)); }

 private:
  struct Prepared {};
  SqliteQuery(Prepared, SqliteDatabase& database, const char* sql);

  template <typename Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  void Bind(int index, Integer value) {
    BindInt(index, static_cast<int64_t>(value));
  }
  void Bind(int index, double value);
  void Bind(int index, absl::string_view text);
  void Bind(int index, const std::string& text) { Bind(index, absl::string_view(text)); }
  void Bind(int index, const char* text) { Bind(index, absl::string_view(text)); }
  void Bind(int index, SqliteBlob blob);
  void Bind(int index, const Sha256Digest& digest);
  void Bind(int index, std::nullptr_t);
  void BindInt(int index, int64_t value);
  void Check(int code);

  SqliteDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
  SqliteDatabase::CachedStatement* cached_ = nullptr;  // null: the statement is this query's own
  absl::Status status_;
};

template <typename... Values>
absl::Status SqliteDatabase::Run(const char* sql, const Values&... values) {
  SqliteQuery query(*this, sql, values...);
  while (query.Next()) {
  }
  return query.status();
}

template <typename... Values>
absl::StatusOr<int64_t> SqliteDatabase::Number(const char* sql, const Values&... values) {
  SqliteQuery query(*this, sql, values...);
  if (query.Next()) return query.Int(0);
  if (!query.status().ok()) return query.status();
  return absl::InternalError(name() + ": no row for " + sql);
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQLITE_DATABASE_H_
