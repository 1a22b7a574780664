// SPDX-License-Identifier: Apache-2.0
//
// SqlDatabase: one connection to a database that speaks SQL, with absl::Status, and SqlRows, the
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

// The rows of a statement that is under way. Columns count from 0.
//   const auto rows = database.Query("SELECT name FROM maps WHERE id = ?1", id);
//   while (rows->Next()) Use(rows->Bytes(0));
//   if (!rows->status().ok()) return rows->status();
class SqlRows {
 public:
  virtual ~SqlRows() = default;

  // Goes to the next row, at first to the first one. False: there is none, or status() has an
  // error.
  [[nodiscard]] virtual bool Next() = 0;
  [[nodiscard]] virtual const absl::Status& status() const = 0;

  // Of the row. Bytes are valid until the next row. A value that cannot be read is empty, and
  // status() has the error.
  [[nodiscard]] virtual bool IsNull(int column) const = 0;
  [[nodiscard]] virtual int64_t Int(int column) const = 0;
  [[nodiscard]] uint64_t UInt(int column) const { return static_cast<uint64_t>(Int(column)); }
  [[nodiscard]] virtual double Real(int column) const = 0;
  [[nodiscard]] virtual absl::string_view Bytes(int column) const = 0;
  [[nodiscard]] std::string Text(int column) const { return std::string(Bytes(column)); }
};

class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  // One statement or several, without parameters and without rows.
  [[nodiscard]] virtual absl::Status Execute(const char* sql) = 0;

  // One statement with parameters 1, 2, ...
  template <typename... Values>
  [[nodiscard]] std::unique_ptr<SqlRows> Query(const char* sql, const Values&... values) {
    const std::array<SqlValue, sizeof...(Values)> all = {ValueOf(values)...};
    return Start(sql, absl::MakeConstSpan(all));
  }

  // The same; its rows are dropped.
  template <typename... Values>
  [[nodiscard]] absl::Status Run(const char* sql, const Values&... values) {
    const auto rows = Query(sql, values...);
    while (rows->Next()) {
    }
    return rows->status();
  }

  // What `of` makes of each row.
  template <typename Of, typename... Values>
  [[nodiscard]] auto ReadAll(Of of, const char* sql, const Values&... values)
      -> absl::StatusOr<std::vector<std::invoke_result_t<Of, const SqlRows&>>> {
    std::vector<std::invoke_result_t<Of, const SqlRows&>> all;
    const auto rows = Query(sql, values...);
    while (rows->Next()) all.push_back(of(*rows));
    if (!rows->status().ok()) return rows->status();
    return all;
  }

  // What `of` makes of the first row; nullopt: there is none.
  template <typename Of, typename... Values>
  [[nodiscard]] auto ReadFirst(Of of, const char* sql, const Values&... values)
      -> absl::StatusOr<std::optional<std::invoke_result_t<Of, const SqlRows&>>> {
    std::optional<std::invoke_result_t<Of, const SqlRows&>> first;
    const auto rows = Query(sql, values...);
    if (rows->Next()) first = of(*rows);
    if (!rows->status().ok()) return rows->status();
    return first;
  }

  // The number in the first column of the only row. Internal: there is none.
  template <typename... Values>
  [[nodiscard]] absl::StatusOr<int64_t> Number(const char* sql, const Values&... values) {
    const auto rows = Query(sql, values...);
    if (rows->Next()) return rows->Int(0);
    if (!rows->status().ok()) return rows->status();
    return absl::InternalError(name() + ": no row for " + sql);
  }

  // Rows that the last statement changed.
  [[nodiscard]] virtual int64_t changes() const = 0;
  // For errors that reach clients: neither a folder nor an address is in it.
  [[nodiscard]] virtual std::string name() const = 0;

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

  // The values need not outlive the call, but for the bytes of blobs.
  [[nodiscard]] virtual std::unique_ptr<SqlRows> Start(const char* sql,
                                                       absl::Span<const SqlValue> values) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQL_DATABASE_H_
