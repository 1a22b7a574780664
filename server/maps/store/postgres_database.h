// SPDX-License-Identifier: Apache-2.0
//
// The SqlDatabase of PostgreSQL: one connection, on which every statement has a deadline.
//
// Codes of errors: Unavailable (the connection is lost, a deadline has passed, others hold a lock
// for too long), ResourceExhausted (the disk or memory is full), FailedPrecondition (the user may
// not do that), InvalidArgument (a value that cannot be kept), DataLoss (damaged), Internal (all
// else). Messages have PostgreSQL's text and SQLSTATE, and no password. Not thread-safe: as
// SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_DATABASE_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_DATABASE_H_

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/maps/store/postgres_map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

class PostgresDatabase : public SqlDatabase {
 public:
  // Connects to a server that accepts writes. Unavailable: it cannot be reached, or refuses the
  // connection; the message says why and names its address.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PostgresDatabase>> Connect(
      const PostgresOptions& options);

  [[nodiscard]] absl::Status Execute(const char* sql) override;
  [[nodiscard]] int64_t changes() const override { return changes_; }
  [[nodiscard]] std::string name() const override { return "the database"; }

  // COMMIT. Internal: the database rolled the transaction back instead.
  [[nodiscard]] absl::Status Commit();

  // Whether nothing can be done any more on this connection.
  [[nodiscard]] bool lost() const { return lost_; }

  // For poll(): readable when a notification may have arrived.
  [[nodiscard]] int socket() const { return PQsocket(handle_.get()); }
  // Removes and returns the texts of all received notifications. Unavailable: the connection is
  // lost.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> DrainNotifications();

 private:
  class Rows;
  struct Finish {
    void operator()(PGconn* handle) const { PQfinish(handle); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Handle = std::unique_ptr<PGconn, Finish>;
  using Result = std::unique_ptr<PGresult, Clear>;

  PostgresDatabase(Handle handle, absl::Duration request_timeout)
      : request_timeout_(request_timeout), handle_(std::move(handle)) {}

  [[nodiscard]] std::unique_ptr<SqlRows> Start(const char* sql,
                                               absl::Span<const SqlValue> values) override;
  // Of statements without parameters.
  [[nodiscard]] absl::StatusOr<Result> Send(const char* sql);
  [[nodiscard]] absl::StatusOr<Result> RunPrepared(const char* sql,
                                                   absl::Span<const SqlValue> values);
  // The name of the prepared statement.
  [[nodiscard]] absl::StatusOr<std::string> Prepared(const char* sql);
  // The answer to what was sent: the last result of it, or its first error.
  [[nodiscard]] absl::StatusOr<Result> WaitForResult();
  [[nodiscard]] absl::Status Await(short events, absl::Time deadline);
  // Empty: for the reason that libpq has.
  [[nodiscard]] absl::Status MarkLost(absl::string_view what = {});
  [[nodiscard]] absl::Status ErrorOf(const PGresult* result);

  const absl::Duration request_timeout_;
  const Handle handle_;
  bool lost_ = false;
  int64_t changes_ = 0;
  // By the text of the statement. What is asked is written in the sources, so there are not many.
  std::map<std::string, std::string, std::less<>> statements_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_DATABASE_H_
