// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/postgres_map_store.h"

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "core/status/try.h"
#include "server/maps/store/postgres_database.h"
#include "server/maps/store/postgres_pool.h"
#include "server/maps/store/postgres_watch.h"
#include "server/maps/store/sql_backend.h"
#include "server/maps/store/store_clock.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

class PostgresBackend : public SqlBackend {
 public:
  PostgresBackend(const PostgresOptions& database, const MapStoreOptions& options, bool durable)
      : durable_(durable),
        own_clock_(options.unix_ns != nullptr),
        writers_(database, 1),
        readers_(database, database.max_readers),
        clock_(options.unix_ns) {}

  // Once, before anything else.
  absl::Status Prepare() {
    return Write(Sync::kNormal, [this](SqlDatabase& database, const StoreTime& now) {
      const absl::MutexLock lock(&mutex_);
      return clock_.Resume(database, now);
    });
  }

  bool durable() const override { return durable_; }
  bool shared() const override { return true; }
  std::unique_ptr<StoreWatch> Watch() override {
    return std::make_unique<PostgresWatch>(readers_.options(), [this] {
      writers_.MarkReachable();
      readers_.MarkReachable();
    });
  }
  absl::Status Backup(const std::string& /*path*/,
                      absl::FunctionRef<bool(double)> /*progress*/) override {
    return absl::UnimplementedError(
        "pg_dump backs up a store in PostgreSQL; docs/reliability.md says how");
  }

  absl::Status Write(Sync sync, TimedBody body) override {
    for (;;) {
      VOXLOC_ASSIGN_OR_RETURN(auto lease, writers_.Acquire());
      PostgresDatabase& database = *lease.database;
      const auto now = Begin(database, sync);
      const bool again = lease.used && database.lost();
      absl::Status status = now.ok() ? Finish(database, body(database, *now)) : now.status();
      if (!now.ok() && !database.lost()) database.Execute("ROLLBACK").IgnoreError();
      writers_.Release(std::move(lease.database));
      // A connection that was lost while nobody used it, as after a restart of the database: the
      // next one is new, since all that were kept are closed with it.
      if (!again || now.ok()) return status;
    }
  }

  absl::Status Read(Body body) override { return WithReader(body); }

  absl::Status ReadSnapshot(Body body) override {
    return WithReader([&](SqlDatabase& database) {
      absl::Status status = database.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
      if (!status.ok()) return status;
      status = body(database);
      const absl::Status ended = database.Execute("COMMIT");
      return status.ok() ? ended : status;
    });
  }

  absl::Status NotifyChange(SqlDatabase& database, absl::string_view map) override {
    // Schemas of one database share the channel.
    return database.Run(
        "UPDATE store_state SET generation = generation + 1, "
        "changed_unix_ns = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000000 AS BIGINT) "
        "RETURNING pg_notify('voxloc_maps', "
        "CONCAT_WS(' ', current_schema(), generation, CAST(?1 AS TEXT)))",
        map);
  }

  absl::Status AnnotateError(const absl::Status& status) const override {
    if (!absl::IsDataLoss(status)) return status;
    return absl::DataLossError(
        absl::StrCat(status.message(), "; restore a backup of the database"));
  }

  absl::StatusOr<uint64_t> StoredBytes(SqlDatabase& database) override {
    VOXLOC_ASSIGN_OR_RETURN(const auto bytes,
                            database.Number("SELECT pg_database_size(current_database())"));
    return static_cast<uint64_t>(bytes);
  }

 private:
  // Waits for other writers. FailedPrecondition: a newer version has migrated the schema in the
  // meantime.
  absl::StatusOr<StoreTime> Begin(PostgresDatabase& database, Sync sync) {
    absl::Status status = database.Execute(
        sync == Sync::kNormal ? "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; "
                                "SET LOCAL synchronous_commit = off"
                              : "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE");
    if (!status.ok()) return status;
    SqlQuery state(database,
                   "SELECT version, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000000 AS "
                   "BIGINT), current_setting('synchronous_commit') FROM store_state FOR UPDATE");
    if (!state.Next()) {
      if (!state.status().ok()) return state.status();
      return absl::UnavailableError("the database has no tables of voxloc");
    }
    if (status = CheckPostgresVersion(state.Int(0)); !status.ok()) return status;
    if (sync == Sync::kFull && state.Bytes(2) == "off") {
      status = database.Execute("SET LOCAL synchronous_commit = on");
      if (!status.ok()) return status;
    }
    const absl::MutexLock lock(&mutex_);
    return own_clock_ ? clock_.Now() : clock_.At(state.Int(1));
  }

  static absl::Status Finish(PostgresDatabase& database, absl::Status status) {
    if (status.ok()) {
      status = database.Commit();
      if (status.ok() || !database.lost()) return status;
      return absl::UnavailableError(absl::StrCat(
          status.message(), "; the outcome is unknown, repeat the request to find out"));
    }
    if (!database.lost()) database.Execute("ROLLBACK").IgnoreError();
    return status;
  }

  // Retries `body` if its connection was lost while idle.
  absl::Status WithReader(Body body) {
    for (;;) {
      VOXLOC_ASSIGN_OR_RETURN(auto lease, readers_.Acquire());
      absl::Status status = body(*lease.database);
      const bool again = lease.used && lease.database->lost();
      readers_.Release(std::move(lease.database));
      if (!again) return status;
    }
  }

  const bool durable_;
  const bool own_clock_;  // in place of the database's
  PostgresPool writers_;
  PostgresPool readers_;
  absl::Mutex mutex_;
  StoreClock clock_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status CheckPostgresUrl(const std::string& url) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(url.c_str(), &error), &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> text(error, &PQfreemem);
  if (parsed != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "store.url: ", error == nullptr ? "libpq cannot read it"
                                      : std::string(absl::StripTrailingAsciiWhitespace(error))));
}

absl::StatusOr<std::unique_ptr<MapStore>> OpenPostgresMapStore(const PostgresOptions& database,
                                                               const MapStoreOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(auto connection, PostgresDatabase::Connect(database));
  VOXLOC_TRY(PreparePostgresSchema(*connection));
  bool durable = false;
  {
    SqlQuery fsync(*connection, "SELECT current_setting('fsync')");
    if (fsync.Next()) durable = fsync.Bytes(0) == "on";
    if (!fsync.status().ok()) return fsync.status();
  }
  connection.reset();
  auto backend = std::make_unique<PostgresBackend>(database, options, durable);
  VOXLOC_TRY(backend->Prepare());
  return std::make_unique<MapStore>(std::move(backend), options);
}

// The store's schema in a database of PostgreSQL.

namespace {

// The advisory lock for creating or migrating the tables: "vxlm", as kStoreApplicationId.
constexpr int64_t kSchemaLock = 0x76786c6d;

// A schema step in PostgreSQL's dialect. Texts are ordered and compared by their bytes.
std::string InPostgres(absl::string_view step) {
  return absl::StrReplaceAll(step, {{"INTEGER PRIMARY KEY AUTOINCREMENT",
                                     "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
                                    {" BLOB", " BYTEA"},
                                    {" TEXT", " TEXT COLLATE \"C\""}});
}

// FailedPrecondition: there are tables of these names that the store has not made.
absl::Status CreateState(PostgresDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto others,
      database.Number(
          "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() "
          "AND tablename IN ('maps', 'revisions', 'contents', 'pieces', 'tiles')"));
  if (others > 0) {
    return absl::FailedPreconditionError(
        "the database has tables of another program; give voxlocd a database or a schema of its "
        "own");
  }
  return database.Execute(
      "CREATE TABLE store_state (version BIGINT NOT NULL, generation BIGINT NOT NULL, "
      "changed_unix_ns BIGINT NOT NULL); INSERT INTO store_state VALUES (0, 0, 0)");
}

absl::Status Prepare(PostgresDatabase& database) {
  absl::Status status = database.Run("SELECT pg_advisory_xact_lock(?1)", kSchemaLock);
  if (!status.ok()) return status;
  VOXLOC_ASSIGN_OR_RETURN(
      const auto state,
      database.Number(
          "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() "
          "AND tablename = 'store_state'"));
  if (state == 0) status = CreateState(database);
  if (!status.ok()) return status;
  VOXLOC_ASSIGN_OR_RETURN(const auto version,
                          database.Number("SELECT version FROM store_state FOR UPDATE"));
  VOXLOC_TRY(CheckPostgresVersion(version));
  if (version == StoreSchemaVersion()) return absl::OkStatus();
  for (const char* const step : StoreSchemaSteps().subspan(static_cast<size_t>(version))) {
    if (status = database.Execute(InPostgres(step).c_str()); !status.ok()) return status;
  }
  // Pieces are compressed already.
  status = database.Execute("ALTER TABLE pieces ALTER COLUMN data SET STORAGE EXTERNAL");
  if (!status.ok()) return status;
  return database.Run("UPDATE store_state SET version = ?1", StoreSchemaVersion());
}

}  // namespace

absl::Status CheckPostgresVersion(int64_t version) {
  if (version <= StoreSchemaVersion()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the database was made by a newer version of voxlocd: its schema has version ",
                   version, ", and this program knows versions up to ", StoreSchemaVersion()));
}

absl::Status PreparePostgresSchema(PostgresDatabase& database) {
  {
    SqlQuery encoding(database, "SELECT current_setting('server_encoding')");
    if (!encoding.Next()) return encoding.status();
    if (encoding.Bytes(0) != "UTF8") {
      return absl::FailedPreconditionError(
          absl::StrCat("the encoding of the database must be UTF8 (got ", encoding.Bytes(0), ")"));
    }
  }
  absl::Status status = database.Execute("BEGIN ISOLATION LEVEL READ COMMITTED");
  if (status.ok()) status = Prepare(database);
  if (status.ok()) return database.Commit();
  database.Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace voxloc::server
