// SPDX-License-Identifier: Apache-2.0
//
// SqlDatabase: one connection to a database that speaks SQL, with absl::Status, and SqlQuery, the
// rows of one statement on it. The store's statements are written once, in the SQL that SQLite and
// PostgreSQL both have, with parameters ?1, ?2, ...; an implementation says which codes its errors
// have. Not thread-safe: one thread at a time uses a connection and what belongs to it.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQL_DATABASE_H_
#define VOXLOC_SERVER_MAPS_STORE_SQL_DATABASE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"

namespace voxloc::server {

// Bytes of a parameter, which must outlive the query. Texts are copied where they have to be.
struct SqlBlob {
  absl::string_view bytes;
};

// A parameter of a statement.
using SqlValue = std::variant<int64_t, double, absl::string_view, SqlBlob>;

// The rows of a statement that is under way, as an implementation has them. Columns count from 0.
class SqlRows {
 public:
  virtual ~SqlRows() = default;

  [[nodiscard]] virtual bool Next() = 0;
  [[nodiscard]] virtual const absl::Status& status() const = 0;
  [[nodiscard]] virtual bool IsNull(int column) const = 0;
  [[nodiscard]] virtual int64_t Int(int column) const = 0;
  [[nodiscard]] virtual double Real(int column) const = 0;
  [[nodiscard]] virtual absl::string_view Bytes(int column) const = 0;
};

class SqlQuery;

class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  // One statement or several, without parameters and without rows.
  [[nodiscard]] virtual absl::Status Execute(const char* sql) = 0;
  // One statement with parameters 1, 2, ...; its rows are dropped.
  template <typename... Values>
  [[nodiscard]] absl::Status Run(const char* sql, const Values&... values);
  // What `of` makes of each row of a statement.
  template <typename Of, typename... Values>
  [[nodiscard]] auto ReadAll(Of of, const char* sql, const Values&... values)
      -> absl::StatusOr<std::vector<std::invoke_result_t<Of, const SqlQuery&>>>;
  // What `of` makes of the first row of a statement; nullopt: there is none.
  template <typename Of, typename... Values>
  [[nodiscard]] auto ReadFirst(Of of, const char* sql, const Values&... values)
      -> absl::StatusOr<std::optional<std::invoke_result_t<Of, const SqlQuery&>>>;
  // The number in the first column of the only row of a statement. Internal: there is none.
  template <typename... Values>
  [[nodiscard]] absl::StatusOr<int64_t> Number(const char* sql, const Values&... values);

  // Rows that the last statement changed.
  [[nodiscard]] virtual int64_t changes() const = 0;
  // For errors that reach clients: neither a folder nor an address is in it.
  [[nodiscard]] virtual std::string name() const = 0;

 private:
  friend class SqlQuery;
  // The values need not outlive the call, but for the bytes of blobs.
  [[nodiscard]] virtual std::unique_ptr<SqlRows> Start(const char* sql,
                                                       absl::Span<const SqlValue> values) = 0;
};

//   SqlQuery query(database, "SELECT name FROM maps WHERE id = ?1", id);
//   while (query.Next()) Use(query.Bytes(0));
//   if (!query.status().ok()) return query.status();
class SqlQuery {
 public:
  template <typename... Values>
  SqlQuery(SqlDatabase& database, const char* sql, const Values&... values) {
    const std::array<SqlValue, sizeof...(Values)> all = {ValueOf(values)...};
    rows_ = database.Start(sql, absl::MakeConstSpan(all));
  }

  // Goes to the next row, at first to the first one. False: there is none, or status() has an
  // error.
  [[nodiscard]] bool Next() { return rows_->Next(); }
  [[nodiscard]] const absl::Status& status() const { return rows_->status(); }

  // Of the row, columns from 0. Bytes are valid until the next row. A value that cannot be read is
  // empty, and status() has the error.
  [[nodiscard]] bool IsNull(int column) const { return rows_->IsNull(column); }
  [[nodiscard]] int64_t Int(int column) const { return rows_->Int(column); }
  [[nodiscard]] uint64_t UInt(int column) const { return static_cast<uint64_t>(Int(column)); }
  [[nodiscard]] double Real(int column) const { return rows_->Real(column); }
  [[nodiscard]] absl::string_view Bytes(int column) const { return rows_->Bytes(column); }
  [[nodiscard]] std::string Text(int column) const { return std::string(Bytes(column)); }

 private:
  template <typename Value>
  static SqlValue ValueOf(const Value& value) {
    if constexpr (std::is_same_v<Value, Sha256Digest>) {
      return SqlBlob{{reinterpret_cast<const char*>(value.data()), value.size()}};
    } else if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
      return static_cast<int64_t>(value);
    } else if constexpr (std::is_convertible_v<const Value&, absl::string_view>) {
      return absl::string_view(value);
    } else {
      return value;
    }
  }

  std::unique_ptr<SqlRows> rows_;
};

template <typename... Values>
absl::Status SqlDatabase::Run(const char* sql, const Values&... values) {
  SqlQuery query(*this, sql, values...);
  while (query.Next()) {
  }
  return query.status();
}

template <typename Of, typename... Values>
auto SqlDatabase::ReadAll(Of of, const char* sql, const Values&... values)
    -> absl::StatusOr<std::vector<std::invoke_result_t<Of, const SqlQuery&>>> {
  SqlQuery query(*this, sql, values...);
  std::vector<std::invoke_result_t<Of, const SqlQuery&>> rows;
  while (query.Next()) rows.push_back(of(query));
  if (!query.status().ok()) return query.status();
  return rows;
}

template <typename Of, typename... Values>
auto SqlDatabase::ReadFirst(Of of, const char* sql, const Values&... values)
    -> absl::StatusOr<std::optional<std::invoke_result_t<Of, const SqlQuery&>>> {
  SqlQuery query(*this, sql, values...);
  std::optional<std::invoke_result_t<Of, const SqlQuery&>> row;
  if (query.Next()) row = of(query);
  if (!query.status().ok()) return query.status();
  return row;
}

template <typename... Values>
absl::StatusOr<int64_t> SqlDatabase::Number(const char* sql, const Values&... values) {
  SqlQuery query(*this, sql, values...);
  if (query.Next()) return query.Int(0);
  if (!query.status().ok()) return query.status();
  return absl::InternalError(name() + ": no row for " + sql);
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQL_DATABASE_H_
