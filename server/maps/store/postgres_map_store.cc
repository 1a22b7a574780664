// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/postgres_map_store.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/status/try.h"
#include "server/maps/store/postgres_database.h"
#include "server/maps/store/sql_backend.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

// A restart of PostgreSQL takes a second or two; attempts on a network that swallows packets take
// the connection timeout each, and the thread that changes maps must not do little else.
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(500);
constexpr absl::Duration kLastBackoff = absl::Seconds(5);
constexpr int kMaxBackoffFailures = 10;  // that the time to the next attempt grows with

absl::Status UnreachableError() {
  return absl::UnavailableError(
      "the database of the maps cannot be reached; maps that are served stay as they are, and "
      "nothing can be written");
}

// A pool of connections to one database. While the database does not respond, Acquire fails
// immediately, except for one attempt per backoff period. Thread-safe.
class PostgresPool {
 public:
  // `options` must outlive it.
  PostgresPool(const PostgresOptions& options, size_t max_connections)
      : options_(options), max_connections_(max_connections) {}

  // A connection, and whether it was used before: then it may have been lost unnoticed.
  struct Lease {
    std::unique_ptr<PostgresDatabase> database;
    bool used = false;
  };
  // Waits for a free connection, at most for the request timeout. Unavailable: no connection; the
  // message is shown to clients and has no address.
  absl::StatusOr<Lease> Acquire() {
    {
      const absl::MutexLock lock(&mutex_);
      const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return in_use_ < max_connections_;
      };
      if (!mutex_.AwaitWithTimeout(absl::Condition(&available), options_.request_timeout)) {
        return absl::UnavailableError(
            absl::StrCat("all ", max_connections_, " connections to the database are in use"));
      }
      if (!idle_.empty()) {
        Lease lease{std::move(idle_.back()), true};
        idle_.pop_back();
        ++in_use_;
        return lease;
      }
      // After a failure one caller at a time tries to connect; the others fail immediately.
      if (failures_ > 0 && (connecting_ || absl::Now() < next_attempt_)) return UnreachableError();
      connecting_ = true;
      ++in_use_;
    }
    auto database = PostgresDatabase::Connect(options_);
    if (database.ok()) {
      MarkReachable();
      return Lease{*std::move(database), false};
    }
    const absl::MutexLock lock(&mutex_);
    --in_use_;
    connecting_ = false;
    next_attempt_ =
        absl::Now() + std::min(kLastBackoff, std::ldexp(1.0, failures_) * kFirstBackoff);
    failures_ = std::min(failures_ + 1, kMaxBackoffFailures);
    return UnreachableError();
  }

  // If it is lost, all idle connections are closed as well, since they are probably lost too.
  void Release(std::unique_ptr<PostgresDatabase> database) {
    std::vector<std::unique_ptr<PostgresDatabase>> closed;  // after the lock
    const absl::MutexLock lock(&mutex_);
    --in_use_;
    if (database->lost()) {
      closed.swap(idle_);
    } else {
      idle_.push_back(std::move(database));
    }
  }

  // The database answers: the next attempt is made at once.
  void MarkReachable() {
    const absl::MutexLock lock(&mutex_);
    failures_ = 0;
    connecting_ = false;
  }

 private:
  const PostgresOptions& options_;
  const size_t max_connections_;
  absl::Mutex mutex_;
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<PostgresDatabase>> idle_ ABSL_GUARDED_BY(mutex_);
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // to connect, since the database was reached
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_attempt_ ABSL_GUARDED_BY(mutex_);
};

// The StoreWatch, on a connection of its own.
class PostgresWatch : public StoreWatch {
 public:
  // `reachable` is called when the database answers, at first or again.
  PostgresWatch(PostgresOptions options, std::function<void()> reachable)
      : options_(std::move(options)),
        on_reachable_(std::move(reachable)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~PostgresWatch() override {
    if (wake_ >= 0) ::close(wake_);
  }

  absl::StatusOr<StoreChange> Next(absl::Duration timeout) override {
    // Changes during a lost connection were not announced here, so a new one polls immediately.
    const absl::Status ready = database_ == nullptr ? Connect() : Await(timeout);
    absl::Status status = ready.ok() ? Poll() : ready;
    if (status.ok()) return change_;
    database_.reset();
    return status;
  }

  void Wake() override {
    const uint64_t one = 1;
    // Full or not there: the wait ends with its time then.
    static_cast<void>(!::write(wake_, &one, sizeof(one)));
  }

 private:
  // Of the maps: how many changes there were, and when the last one was.
  struct State {
    int64_t generation = 0;
    int64_t changed_unix_ns = 0;
    std::string schema;
  };

  absl::Status Connect() {
    VOXLOC_ASSIGN_OR_RETURN(auto database, PostgresDatabase::Connect(options_));
    VOXLOC_ASSIGN_OR_RETURN(const auto before, ReadState(*database));
    VOXLOC_TRY(database->Execute("LISTEN voxloc_maps"));
    database_ = std::move(database);
    announced_ = before.generation;
    polled_generation_ = std::nullopt;
    on_reachable_();
    return absl::OkStatus();
  }

  // Until an announcement comes, or Wake is called.
  absl::Status Await(absl::Duration timeout) {
    const absl::Time deadline = absl::Now() + timeout;
    for (;;) {
      VOXLOC_ASSIGN_OR_RETURN(texts_, database_->DrainNotifications());
      if (!texts_.empty()) return absl::OkStatus();
      const int64_t left_ms = std::min<int64_t>(
          std::max<int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()), 0), 60'000);
      std::array<pollfd, 2> waited = {{{database_->socket(), POLLIN, 0}, {wake_, POLLIN, 0}}};
      const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(left_ms));
      if (ready < 0 && errno != EINTR) return absl::InternalError("poll failed");
      if (ready == 0 && absl::Now() >= deadline) return absl::OkStatus();
      if ((waited[1].revents & POLLIN) != 0) {
        uint64_t count = 0;
        static_cast<void>(!::read(wake_, &count, sizeof(count)));
        return absl::OkStatus();
      }
    }
  }

  // Sets change_. Where each change since the last look was announced, it names their maps.
  absl::Status Poll() {
    VOXLOC_ASSIGN_OR_RETURN(const auto state, ReadState(*database_));
    // Whether there are announcements since the last look, each understood and later than those
    // before.
    bool in_order = polled_generation_.has_value() && !texts_.empty();
    int64_t last = 0;
    std::map<int64_t, std::string> maps;  // by the generation after the change
    for (const std::string& text : std::exchange(texts_, {})) {
      const std::vector<absl::string_view> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
      int64_t generation = 0;
      if (words.size() != 3 || words[0] != state.schema ||
          !absl::SimpleAtoi(words[1], &generation)) {
        in_order = false;  // of an older program
        continue;
      }
      if (generation <= announced_) in_order = false;  // a backup was restored
      announced_ = last = generation;
      if (in_order && generation > *polled_generation_) maps.emplace(generation, words[2]);
    }
    if (in_order && last <= *polled_generation_) {
      // Outdated notifications. Those of later changes will follow.
      change_.maps = std::vector<std::string>();
      return absl::OkStatus();
    }
    change_.fingerprint = absl::StrCat(state.generation, "/", state.changed_unix_ns);
    if (in_order && last <= state.generation &&
        maps.size() == static_cast<size_t>(last - *polled_generation_)) {
      if (last != state.generation) change_.fingerprint = absl::StrCat(last);
      polled_generation_ = last;
      std::set<std::string> names;
      for (const auto& [generation, map] : maps) names.insert(map);
      change_.maps = std::vector<std::string>(names.begin(), names.end());
    } else {
      polled_generation_ = state.generation;
      change_.maps = std::nullopt;
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<State> ReadState(PostgresDatabase& database) {
    VOXLOC_ASSIGN_OR_RETURN(
        auto state, database.ReadFirst(
                        [](const SqlRows& row) {
                          return State{row.Int(0), row.Int(1), row.Text(2)};
                        },
                        "SELECT generation, changed_unix_ns, current_schema() FROM store_state"));
    if (state.has_value()) return *std::move(state);
    return absl::UnavailableError("the database has no tables of voxloc");
  }

  const PostgresOptions options_;
  const std::function<void()> on_reachable_;
  const int wake_;  // an eventfd
  std::unique_ptr<PostgresDatabase> database_;
  std::vector<std::string> texts_;  // that have come and were not looked at
  int64_t announced_ = 0;           // the generation that was announced last
  // The generation of change_; nullopt: of another connection.
  std::optional<int64_t> polled_generation_;
  StoreChange change_;
};

class PostgresBackend : public SqlBackend {
 public:
  PostgresBackend(const PostgresOptions& database, const MapStoreOptions& options, bool durable)
      : durable_(durable),
        own_clock_(options.unix_ns != nullptr),
        database_(database),
        writers_(database_, 1),
        readers_(database_, database.max_readers),
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
    return std::make_unique<PostgresWatch>(database_, [this] {
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
      const bool again = !now.ok() && lease.used && database.lost();
      absl::Status status = now.ok() ? body(database, *now) : now.status();
      if (!status.ok()) {
        if (!database.lost()) database.Execute("ROLLBACK").IgnoreError();
      } else if (status = database.Commit(); !status.ok() && database.lost()) {
        status = absl::UnavailableError(absl::StrCat(
            status.message(), "; the outcome is unknown, repeat the request to find out"));
      }
      writers_.Release(std::move(lease.database));
      // A connection that was lost while nobody used it, as after a restart of the database: the
      // next one is new, since all that were kept are closed with it.
      if (!again) return status;
    }
  }

  // Retries `body` if its connection was lost while idle.
  absl::Status Read(Body body) override {
    for (;;) {
      VOXLOC_ASSIGN_OR_RETURN(auto lease, readers_.Acquire());
      absl::Status status = body(*lease.database);
      const bool again = lease.used && lease.database->lost();
      readers_.Release(std::move(lease.database));
      if (!again) return status;
    }
  }

  absl::Status ReadSnapshot(Body body) override {
    return Read([&](SqlDatabase& database) -> absl::Status {
      VOXLOC_TRY(database.Execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"));
      absl::Status status = body(database);
      status.Update(database.Execute("COMMIT"));
      return status;
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
    VOXLOC_TRY(database.Execute(sync == Sync::kNormal
                                    ? "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE; "
                                      "SET LOCAL synchronous_commit = off"
                                    : "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"));
    const auto state = database.Query(
        "SELECT version, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000000 AS "
        "BIGINT), current_setting('synchronous_commit') FROM store_state FOR UPDATE");
    if (!state->Next()) {
      if (!state->status().ok()) return state->status();
      return absl::UnavailableError("the database has no tables of voxloc");
    }
    VOXLOC_TRY(CheckSchemaVersion("the database", state->Int(0)));
    if (sync == Sync::kFull && state->Bytes(2) == "off") {
      VOXLOC_TRY(database.Execute("SET LOCAL synchronous_commit = on"));
    }
    const absl::MutexLock lock(&mutex_);
    return own_clock_ ? clock_.Now() : clock_.At(state->Int(1));
  }

  const bool durable_;
  const bool own_clock_;  // in place of the database's
  const PostgresOptions database_;
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
  VOXLOC_ASSIGN_OR_RETURN(
      const auto synced,
      connection->Number("SELECT CASE current_setting('fsync') WHEN 'on' THEN 1 ELSE 0 END"));
  connection.reset();
  auto backend = std::make_unique<PostgresBackend>(database, options, synced == 1);
  VOXLOC_TRY(backend->Prepare());
  return std::make_unique<MapStore>(std::move(backend), options);
}

}  // namespace voxloc::server
