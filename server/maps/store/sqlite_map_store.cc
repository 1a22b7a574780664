// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sqlite_map_store.h"

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/status/try.h"
#include "server/maps/store/directory_lock.h"
#include "server/maps/store/sql_backend.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/store_schema.h"

namespace voxloc::server {
namespace {

// Pages of the log after which a short transaction moves them into the database; SQLite's own
// figure. A commit leaves that to others unless the log has become this many times longer.
constexpr int kCheckpointPages = 1000;
constexpr int kCommitCheckpointFactor = 16;
// Connections that read. Each has a cache of 2 MB; more readers than this wait for each other.
constexpr size_t kMaxReaders = 16;
// 4 MiB of the default page.
constexpr int64_t kPagesPerShrink = 1024;
// The files with the committed data; nothing is written after one of them was removed.
constexpr std::array<const char*, 2> kFiles = {"maps.db", "maps.db-wal"};

// All but the pieces of content, which are many and are checked when they are read. Takes a
// fraction of a second for 40,000 tiles.
constexpr std::array<const char*, 9> kCheckedTables = {"map_numbers",  "maps",       "revisions",
                                                       "canaries",     "contents",   "tiles",
                                                       "staged_tiles", "last_poses", "tile_fits"};

// `status`, which says that the database of a directory is damaged, with what can be done. Clients
// see it, so it does not name the directory.
absl::Status WithRemedy(const absl::Status& status) {
  if (absl::StrContains(status.message(), "voxlocd restore")) return status;
  return absl::DataLossError(
      absl::StrCat(status.message(),
                   "; `voxlocd restore --data-dir DIR --from BACKUP` puts a backup in its place"));
}

// Which file has this name. nullopt: none.
std::optional<std::pair<dev_t, ino_t>> IdOf(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
  return std::make_pair(file.st_dev, file.st_ino);
}

class SqliteBackend : public SqlBackend {
 public:
  SqliteBackend(const MapStoreOptions& options, std::string directory,
                std::unique_ptr<DirectoryLock> lock, std::unique_ptr<SqliteDatabase> writer)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        one_connection_(lock_ == nullptr),
        clock_(options.unix_ns),
        writer_(std::move(writer)) {}

  ~SqliteBackend() override {
    const absl::MutexLock lock(&mutex_);
    // Data is as safe in the log as in the database, so errors can be ignored.
    if (durable() && writable_.ok()) writer_->Checkpoint(true).IgnoreError();
  }

  // Call once, first. `log`: the result of syncing an existing log.
  absl::Status Prepare(const absl::Status& log = absl::OkStatus()) {
    const absl::MutexLock lock(&mutex_);
    writable_ = log;
    absl::Status status = PrepareLocked();
    if (absl::IsResourceExhausted(status) && durable()) {
      status = LockDatabaseExclusively();
      if (status.ok()) status = PrepareLocked();
    }
    if (!status.ok()) writable_ = status;
    return status;
  }

  absl::Status PrepareLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::Status status = CheckSchema(*writer_);
    const auto version = writer_->Number("PRAGMA user_version");
    if (status.ok()) status = version.status();
    if (status.ok()) status = writer_->Execute("PRAGMA foreign_keys = ON");
    if (status.ok() && durable()) status = EnableWal();
    if (status.ok()) status = MigrateSchema(*writer_);
    if (!status.ok()) return AnnotateError(status);
    if (durable()) {
      damage_.clear();
      for (const char* const table : kCheckedTables) writer_->CheckIntegrity(table, damage_);
      if (!damage_.empty()) {
        writable_ = WithRemedy(absl::DataLossError(
            absl::StrCat(writer_->name(), " is damaged and is not written to: ", damage_.front())));
        return absl::OkStatus();
      }
      // Of a new database the name must last as well.
      if (*version == 0) status = SyncDirectory(directory_);
    }
    if (!status.ok()) return status;
    for (size_t i = 0; i < kFiles.size() && durable(); ++i) files_[i] = IdOf(PathOf(kFiles[i]));
    status = WriteLocked(Sync::kNormal, [](SqlDatabase& /*database*/, const StoreTime& /*now*/) {
      return absl::OkStatus();
    });
    // With a full disk the store stays readable, and the next write retries.
    return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
  }

  bool durable() const override { return lock_ != nullptr; }
  std::vector<std::string> damage() const override { return damage_; }
  bool shared() const override { return false; }
  std::unique_ptr<StoreWatch> Watch() override { return nullptr; }
  absl::Status Backup(const std::string& path,
                      absl::FunctionRef<bool(double)> progress) override
      ABSL_NO_THREAD_SAFETY_ANALYSIS {  // each step of it takes the lock
    return writer_->Backup(path, &mutex_, progress);
  }

  absl::Status Write(Sync sync, TimedBody body) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return WriteLocked(sync, body);
  }

  // On a connection of the pool, or on the one for all.
  absl::Status Read(Body body) override { return WithReader(body); }

  absl::Status ReadSnapshot(Body body) override {
    return WithReader([&](SqliteDatabase& database) {
      return database.Transaction(SqliteDatabase::Begin::kDeferred, [&] { return body(database); });
    });
  }

  absl::Status CheckWritable() override {
    const absl::MutexLock lock(&mutex_);
    return writable_;
  }

  // Damage that is not of one content.
  absl::Status AnnotateError(const absl::Status& status) const override {
    return absl::IsDataLoss(status) && durable() ? WithRemedy(status) : status;
  }

  absl::Status Shrink(CollectReport& report) override {
    if (!durable()) return absl::OkStatus();
    return Write(
        Sync::kNormal, [&](SqlDatabase& database, const StoreTime& /*now*/) -> absl::Status {
          VOXLOC_ASSIGN_OR_RETURN(const auto free, database.Number("PRAGMA freelist_count"));
          VOXLOC_ASSIGN_OR_RETURN(const auto pages, database.Number("PRAGMA page_count"));
          // Free pages are what the next content is written to; a quarter of the file is plenty.
          const int64_t surplus = free - std::max(pages / 4, 4 * kPagesPerShrink);
          if (surplus <= 0) return absl::OkStatus();
          if (surplus > kPagesPerShrink) report.more = true;
          const int64_t freed = std::min(surplus, kPagesPerShrink);
          return database.Execute(absl::StrCat("PRAGMA incremental_vacuum(", freed, ")").c_str());
        });
  }

  absl::StatusOr<uint64_t> StoredBytes(SqlDatabase& database) override {
    if (!durable()) {
      VOXLOC_ASSIGN_OR_RETURN(const auto pages, database.Number("PRAGMA page_count"));
      VOXLOC_ASSIGN_OR_RETURN(const auto page_bytes, database.Number("PRAGMA page_size"));
      return static_cast<uint64_t>(pages * page_bytes);
    }
    uint64_t bytes = 0;
    for (const char* const name : kFiles) {
      struct stat file {};
      if (::stat(PathOf(name).c_str(), &file) == 0) bytes += static_cast<uint64_t>(file.st_size);
    }
    return bytes;
  }

 private:
  // Where the disk is full, the index of the log has no file that connections could share. It is
  // then in the memory of one, and the database that one's until it is closed.
  absl::Status LockDatabaseExclusively() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writer_.reset();
    VOXLOC_ASSIGN_OR_RETURN(
        writer_, SqliteDatabase::Open(directory_ + "/maps.db", SqliteDatabase::Access::kWrite));
    one_connection_ = true;
    return writer_->Execute("PRAGMA locking_mode = EXCLUSIVE");
  }

  absl::Status EnableWal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Freed pages go back to the file system, in steps that the store asks for. A database that has
    // the setting is only read: writing it again would fail on a full disk.
    constexpr int64_t kIncremental = 2;
    VOXLOC_ASSIGN_OR_RETURN(const auto mode, writer_->Number("PRAGMA auto_vacuum"));
    if (mode != kIncremental) {
      VOXLOC_TRY(writer_->Execute("PRAGMA auto_vacuum = INCREMENTAL"));
    }
    const auto query = writer_->Query("PRAGMA journal_mode = WAL");
    if (!query->Next()) return query->status();
    if (query->Bytes(0) == "wal") {
      // The log shrinks to 64 MiB again after it was longer. With a cache of 32 MiB instead of
      // SQLite's 2 a commit of 40,000 tiles took 1.9 s instead of 2.5.
      return writer_->Execute("PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -32768");
    }
    return absl::FailedPreconditionError(
        absl::StrCat(writer_->path(), ": the file system cannot hold a write-ahead log"));
  }

  absl::Status WriteLocked(Sync sync, TimedBody body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!CheckFiles()) return writable_;
    VOXLOC_TRY(writer_->Execute(sync == Sync::kFull ? "PRAGMA synchronous = FULL"
                                                    : "PRAGMA synchronous = NORMAL"));
    const auto resume_and_run = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      if (!resumed_) {
        VOXLOC_TRY(clock_.Resume(*writer_, clock_.Now()));
      }
      return body(*writer_, clock_.Now());
    };
    absl::Status status = writer_->Transaction(SqliteDatabase::Begin::kImmediate, resume_and_run);
    if (status.ok()) resumed_ = true;
    if (writer_->sync_failed()) {
      StopWriting(status);
      return absl::InternalError(absl::StrCat(
          status.message(), "; the outcome is unknown until the store is opened again"));
    }
    if (status.ok() && !CheckFiles()) return writable_;
    const int pages =
        sync == Sync::kFull ? kCommitCheckpointFactor * kCheckpointPages : kCheckpointPages;
    if (status.ok() && durable() && writer_->wal_pages() >= pages) {
      // The transaction is safe in the log, whatever becomes of this; a full disk, for instance,
      // only lets the log grow.
      const absl::Status moved = writer_->Checkpoint(false);
      if (writer_->sync_failed()) StopWriting(moved);
    }
    return status;
  }

  // After a failed sync; see the header.
  void StopWriting(const absl::Status& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writable_ = absl::InternalError(
        absl::StrCat("nothing is written any more until the store is opened again, since what was "
                     "written could not be synced: ",
                     reason.message()));
  }

  [[nodiscard]] std::string PathOf(const char* file) const {
    return absl::StrCat(directory_, "/", file);
  }

  // Whether it can be written. What is written to a file that was removed is gone when the store is
  // closed, although it can be read until then.
  [[nodiscard]] bool CheckFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (size_t i = 0; i < kFiles.size() && writable_.ok(); ++i) {
      if (!files_[i].has_value() || IdOf(PathOf(kFiles[i])) == files_[i]) continue;
      writable_ = absl::InternalError(
          absl::StrCat("nothing is written any more until the store is opened again: ", kFiles[i],
                       " was removed or replaced while it is in use"));
    }
    return writable_.ok();
  }

  absl::Status WithReader(absl::FunctionRef<absl::Status(SqliteDatabase&)> body) {
    if (one_connection_) {
      const absl::MutexLock lock(&mutex_);
      return body(*writer_);
    }
    std::unique_ptr<SqliteDatabase> reader;
    {
      const absl::MutexLock lock(&readers_mutex_);
      const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(readers_mutex_) {
        return readers_in_use_ < kMaxReaders;
      };
      readers_mutex_.Await(absl::Condition(&available));
      ++readers_in_use_;
      if (!readers_.empty()) {
        reader = std::move(readers_.back());
        readers_.pop_back();
      }
    }
    absl::Status status;
    if (reader == nullptr) {
      auto opened = SqliteDatabase::Open(directory_ + "/maps.db", SqliteDatabase::Access::kRead);
      status = opened.status();
      if (opened.ok()) reader = *std::move(opened);
    }
    if (status.ok()) status = body(*reader);
    const absl::MutexLock lock(&readers_mutex_);
    --readers_in_use_;
    if (reader != nullptr) readers_.push_back(std::move(reader));
    return status;
  }

  const std::string directory_;
  const std::unique_ptr<DirectoryLock> lock_;  // null in memory
  std::vector<std::string> damage_;            // since Prepare constant
  bool one_connection_;                        // likewise: for all that read and write

  absl::Mutex readers_mutex_;
  size_t readers_in_use_ ABSL_GUARDED_BY(readers_mutex_) = 0;
  std::vector<std::unique_ptr<SqliteDatabase>> readers_ ABSL_GUARDED_BY(readers_mutex_);

  absl::Mutex mutex_;
  StoreClock clock_ ABSL_GUARDED_BY(mutex_);
  bool resumed_ ABSL_GUARDED_BY(mutex_) = false;  // the clock
  // As they were at the opening; nullopt: in memory, or there was none.
  std::array<std::optional<std::pair<dev_t, ino_t>>, kFiles.size()> files_ ABSL_GUARDED_BY(mutex_);
  absl::Status writable_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<SqliteDatabase> writer_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<MapStore>> OpenSqliteMapStore(const std::string& directory,
                                                             const MapStoreOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(auto lock, DirectoryLock::Acquire(directory));
  const std::string path = directory + "/maps.db";
  absl::Status log = RewriteWal(path);
  if (absl::IsResourceExhausted(log)) {
    log = absl::ResourceExhaustedError(
        absl::StrCat("nothing is written until the store is opened again: ", log.message()));
  } else if (!log.ok()) {
    return log;
  }
  VOXLOC_ASSIGN_OR_RETURN(auto writer, SqliteDatabase::Open(path, SqliteDatabase::Access::kCreate));
  auto backend =
      std::make_unique<SqliteBackend>(options, directory, std::move(lock), std::move(writer));
  VOXLOC_TRY(backend->Prepare(log));
  const bool damaged = !backend->damage().empty();
  auto store = std::make_unique<MapStore>(std::move(backend), options);
  if (damaged) {
    // All that is needed to serve must be readable.
    if (const auto maps = store->ListMaps(); !maps.ok()) return maps.status();
  }
  return store;
}

absl::StatusOr<std::unique_ptr<MapStore>> MakeMemoryMapStore(const MapStoreOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(auto writer,
                          SqliteDatabase::Open(":memory:", SqliteDatabase::Access::kCreate));
  auto backend = std::make_unique<SqliteBackend>(options, "", nullptr, std::move(writer));
  VOXLOC_TRY(backend->Prepare());
  return std::make_unique<MapStore>(std::move(backend), options);
}

}  // namespace voxloc::server
