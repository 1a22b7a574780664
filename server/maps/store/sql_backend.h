// SPDX-License-Identifier: Apache-2.0
//
// SqlBackend: the database of a MapStore: transactions, their time, and the operations in which
// SQLite and PostgreSQL differ. Thread-safe unless stated otherwise.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQL_BACKEND_H_
#define VOXLOC_SERVER_MAPS_STORE_SQL_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// A time of the store: the system's, and one that never goes back, by which things expire.
struct StoreTime {
  int64_t system_unix_ns = 0;  // as the system's clock has it, which may be set back
  int64_t store_unix_ns = 0;   // never earlier than before
};

// Of a time that an option has in seconds.
[[nodiscard]] int64_t ToStoreNs(double seconds);

// Not thread-safe.
class StoreClock {
 public:
  // `unix_ns`: nanoseconds since the Unix epoch; empty: the system's clock.
  explicit StoreClock(std::function<int64_t()> unix_ns);

  // Continues from the latest time in the database, so that a clock set back between two runs makes
  // nothing expire early. Times over 30 days ahead were written by a wrong clock and are set to
  // now. Call it within a transaction.
  [[nodiscard]] absl::Status Resume(SqlDatabase& database, const StoreTime& now);

  [[nodiscard]] StoreTime Now();
  // Where another clock says that it is `system_unix_ns`.
  [[nodiscard]] StoreTime At(int64_t system_unix_ns);

 private:
  const std::function<int64_t()> unix_ns_;
  int64_t latest_unix_ns_;
};

class SqlBackend {
 public:
  // kFull: what the transaction wrote lasts once it has returned; kNormal: soon after.
  enum class Sync { kNormal, kFull };
  using Body = absl::FunctionRef<absl::Status(SqlDatabase&)>;
  using TimedBody = absl::FunctionRef<absl::Status(SqlDatabase&, const StoreTime&)>;

  virtual ~SqlBackend() = default;

  // As MapStore's of these names.
  [[nodiscard]] virtual bool durable() const = 0;
  [[nodiscard]] virtual std::vector<std::string> damage() const { return {}; }
  [[nodiscard]] virtual bool shared() const = 0;
  [[nodiscard]] virtual std::unique_ptr<StoreWatch> Watch() = 0;
  [[nodiscard]] virtual absl::Status Backup(const std::string& path,
                                            absl::FunctionRef<bool(double)> progress) = 0;

  // One transaction that changes something. They take turns, also those of several processes.
  [[nodiscard]] virtual absl::Status Write(Sync sync, TimedBody body) = 0;
  // Some statements that read.
  [[nodiscard]] virtual absl::Status Read(Body body) = 0;
  // One read transaction on a consistent snapshot.
  [[nodiscard]] virtual absl::Status ReadSnapshot(Body body) = 0;

  // Whether an upload can begin.
  [[nodiscard]] virtual absl::Status CheckWritable() { return absl::OkStatus(); }
  // Within the transaction that has changed a map: announces it to other processes.
  [[nodiscard]] virtual absl::Status NotifyChange(SqlDatabase& /*database*/,
                                                  absl::string_view /*map*/) {
    return absl::OkStatus();
  }
  // Adds to an error what the operator can do, if anything.
  [[nodiscard]] virtual absl::Status AnnotateError(const absl::Status& status) const = 0;
  // After a collection: gives some of what came free back to the disk.
  [[nodiscard]] virtual absl::Status Shrink(CollectReport& /*report*/) { return absl::OkStatus(); }
  // On the disk, or in memory.
  [[nodiscard]] virtual absl::StatusOr<uint64_t> StoredBytes(SqlDatabase& database) = 0;

  // A call that changes a map: one transaction, which lasts when this returns. `body` returns an
  // absl::StatusOr, as Change does.
  template <typename TimedCall>
  [[nodiscard]] auto Change(absl::string_view map, const TimedCall& body) {
    std::invoke_result_t<TimedCall, SqlDatabase&, const StoreTime&> result =
        absl::InternalError("");
    const absl::Status status =
        Write(Sync::kFull, [&](SqlDatabase& database, const StoreTime& now) {
          result = body(database, now);
          return result.ok() ? NotifyChange(database, map) : result.status();
        });
    if (!status.ok()) result = AnnotateError(status);
    return result;
  }

  // A call that reads: one transaction. `body` returns an absl::StatusOr, as Query does.
  template <typename Call>
  [[nodiscard]] auto Query(const Call& body) {
    std::invoke_result_t<Call, SqlDatabase&> result = absl::InternalError("");
    const absl::Status status = ReadSnapshot([&](SqlDatabase& database) {
      result = body(database);
      return result.status();
    });
    if (!status.ok()) result = AnnotateError(status);
    return result;
  }
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQL_BACKEND_H_
