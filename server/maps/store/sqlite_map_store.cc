// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sqlite_map_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/maps/store/collect_rows.h"
#include "server/maps/store/content_piece.h"
#include "server/maps/store/content_rows.h"
#include "server/maps/store/directory_lock.h"
#include "server/maps/store/fit_rows.h"
#include "server/maps/store/pose_rows.h"
#include "server/maps/store/revision_rows.h"
#include "server/maps/store/sqlite_backup.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/store_clock.h"
#include "server/maps/store/store_damage.h"
#include "server/maps/store/store_schema.h"
#include "server/maps/store/write_ahead_log.h"

namespace voxloc::server {
namespace {

// Pages of the log after which a short transaction moves them into the database; SQLite's own
// figure. A commit leaves that to others unless the log has become this many times longer.
constexpr int kCheckpointPages = 1000;
constexpr int kCommitCheckpointFactor = 16;
// Connections that read. Each has a cache of 2 MB; more readers than this wait for each other.
constexpr size_t kMaxReaders = 16;
// How much of a time to expiry content that is asked for again may have used before that is noted:
// noting it costs a write.
constexpr int64_t kFreshPart = 16;

int64_t ToNs(double seconds) {
  const double ns = seconds * 1e9;
  return ns < 9e18 ? static_cast<int64_t>(ns) : std::numeric_limits<int64_t>::max() / 2;
}

// `ns` before a time, or the earliest time of all but kNeverWanted.
int64_t Before(int64_t unix_ns, int64_t ns) {
  const int64_t earliest = kNeverWanted + 1;
  return unix_ns < earliest + ns ? earliest : unix_ns - ns;
}

// `use`: what has it, or nothing.
absl::Status DamagedContent(const Sha256Digest& digest, absl::string_view use,
                            absl::string_view detail) {
  return absl::DataLossError(absl::StrCat("content ", ToHex(digest), use.empty() ? "" : " of ", use,
                                          " is damaged: ", detail));
}

class SqliteMapStore : public MapStore {
 public:
  SqliteMapStore(const MapStoreOptions& options, std::string directory,
                 std::unique_ptr<DirectoryLock> lock, std::unique_ptr<SqliteDatabase> writer)
      : options_(options),
        directory_(std::move(directory)),
        lock_(std::move(lock)),
        clock_(options.unix_ns),
        writer_(std::move(writer)) {}

  ~SqliteMapStore() override {
    const absl::MutexLock lock(&mutex_);
    // What the log has is as safe there as in the database, so an error of this means nothing.
    if (durable() && writable_.ok()) writer_->Checkpoint(true).IgnoreError();
  }

  // Once, before anything else.
  absl::Status Prepare() {
    const absl::MutexLock lock(&mutex_);
    absl::Status status = PrepareLocked();
    if (!status.ok()) writable_ = status;
    return status;
  }

  absl::Status PrepareLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::Status status = CheckSchema(*writer_);
    const auto version = writer_->Number("PRAGMA user_version");
    if (status.ok()) status = version.status();
    if (status.ok()) status = writer_->Execute("PRAGMA foreign_keys = ON");
    if (status.ok() && durable()) status = UseLog();
    if (status.ok()) status = MigrateSchema(*writer_);
    if (!status.ok()) return Explained(status);
    if (durable()) {
      damage_ = FindDamage(*writer_);
      if (!damage_.empty()) {
        writable_ = WithRemedy(absl::DataLossError(
            absl::StrCat(writer_->name(), " is damaged and is not written to: ", damage_.front())));
        return ReadAll();
      }
      // Of a new database the name must last as well.
      if (*version == 0) status = SyncDirectory(directory_);
    }
    if (status.ok()) {
      status =
          WriteLocked(Sync::kNormal, [this](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                         mutex_) { return clock_.Resume(database); });
    }
    if (!status.ok()) return status;
    return CountUnreferenced();
  }

  bool durable() const override { return lock_ != nullptr; }
  const std::vector<std::string>& damage() const override { return damage_; }

  absl::StatusOr<std::unique_ptr<ContentUpload>> Upload() override;

  absl::StatusOr<std::vector<bool>> HasContent(absl::Span<const Sha256Digest> digests) override {
    std::vector<bool> there;
    absl::Status status =
        Write(Sync::kNormal,
              [&](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
                auto found = WantContent(database, digests, clock_.Now().store_unix_ns,
                                         ToNs(options_.unreferenced_for_s) / kFreshPart);
                if (!found.ok()) return found.status();
                there = *std::move(found);
                return absl::OkStatus();
              });
    if (!status.ok()) return status;
    return there;
  }

  absl::StatusOr<std::vector<std::string>> MapsWithContent(const Sha256Digest& digest) override {
    return Ask<std::vector<std::string>>(
        [&](SqliteDatabase& database) { return FindMapsWithContent(database, digest); });
  }

  absl::Status ReadContent(const Sha256Digest& digest,
                           absl::FunctionRef<absl::Status(absl::string_view)> take) override;

  absl::StatusOr<CommittedRevision> Commit(const RevisionCommit& commit) override {
    return Change<CommittedRevision>([&](SqliteDatabase& database, const StoreTime& now) {
      return CommitRevision(database, commit, options_.max_staged_revisions, now);
    });
  }

  absl::StatusOr<std::optional<StoredRevision>> FindRequest(absl::string_view map,
                                                            absl::string_view request_id) override {
    return Ask<std::optional<StoredRevision>>(
        [&](SqliteDatabase& database) { return FindRequestRow(database, map, request_id); });
  }

  absl::StatusOr<StoredRevision> Activate(absl::string_view map, uint64_t revision) override {
    return Change<StoredRevision>([&](SqliteDatabase& database, const StoreTime& now) {
      return ActivateRevision(database, map, revision, now);
    });
  }

  absl::StatusOr<StoredRevision> Withdraw(absl::string_view map, uint64_t revision) override {
    return Change<StoredRevision>([&](SqliteDatabase& database, const StoreTime& now) {
      return WithdrawRevision(database, map, revision, now);
    });
  }

  absl::StatusOr<StoredRevision> SetCanary(absl::string_view map, uint64_t revision,
                                           std::vector<std::string> vehicles) override {
    return Change<StoredRevision>([&](SqliteDatabase& database, const StoreTime& /*now*/) {
      return SetCanaryRows(database, map, revision, vehicles);
    });
  }

  absl::StatusOr<uint64_t> DeleteMap(absl::string_view map, uint64_t revision) override {
    return Change<uint64_t>([&](SqliteDatabase& database, const StoreTime& /*now*/) {
      return DeleteMapRow(database, map, revision);
    });
  }

  absl::StatusOr<std::vector<StoredMap>> ListMaps() override {
    return Ask<std::vector<StoredMap>>([this](SqliteDatabase& database) {
      return ReadMaps(database, options_.retained_revisions);
    });
  }

  absl::StatusOr<StoredMap> GetMap(absl::string_view map) override {
    return Ask<StoredMap>([&](SqliteDatabase& database) {
      return ReadMap(database, map, options_.retained_revisions);
    });
  }

  absl::StatusOr<Manifest> GetManifest(absl::string_view map, uint64_t revision) override {
    return Ask<Manifest>([&](SqliteDatabase& database) {
      return ReadManifest(database, map, revision, options_.retained_revisions);
    });
  }

  absl::Status SaveLastPoses(absl::Span<const LastPose> poses) override {
    return Write(Sync::kNormal,
                 [&](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                   return SavePoses(database, poses, clock_.Now().store_unix_ns);
                 });
  }

  absl::StatusOr<LastPose> GetLastPose(absl::string_view vehicle) override {
    return Ask<LastPose>([&](SqliteDatabase& database) { return ReadPose(database, vehicle); });
  }

  absl::StatusOr<std::vector<LastPose>> ListLastPoses(absl::string_view map) override {
    return Ask<std::vector<LastPose>>(
        [&](SqliteDatabase& database) { return ReadPosesOfMap(database, map); });
  }

  absl::Status SaveTileFits(absl::Span<const StoredTileFit> fits) override {
    return Write(Sync::kNormal,
                 [&](SqliteDatabase& database) { return SaveFitRows(database, fits); });
  }

  absl::StatusOr<std::vector<StoredTileFit>> ListTileFits(absl::string_view map) override {
    return Ask<std::vector<StoredTileFit>>(
        [&](SqliteDatabase& database) { return ReadFitRows(database, map); });
  }

  absl::StatusOr<CollectReport> Collect() override;
  absl::Status Backup(const std::string& path, absl::FunctionRef<bool(double)> progress) override;
  absl::StatusOr<StoreUsage> Usage() override;

 private:
  friend class SqliteUpload;

  enum class Sync { kNormal, kFull };
  using Body = absl::FunctionRef<absl::Status(SqliteDatabase&)>;

  absl::Status UseLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::Status status = PrepareNewDatabase(*writer_);
    if (!status.ok()) return status;
    SqliteQuery query(*writer_, "PRAGMA journal_mode = WAL");
    if (!query.Next()) return query.status();
    if (query.Bytes(0) == "wal") {
      // The log shrinks to 64 MiB again after it was longer. With a cache of 32 MiB instead of
      // SQLite's 2 a commit of 40,000 tiles took 1.9 s instead of 2.5.
      return writer_->Execute("PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -32768");
    }
    return absl::FailedPreconditionError(
        absl::StrCat(writer_->path(), ": the file system cannot hold a write-ahead log"));
  }

  // Whether all that is needed to serve can be read.
  absl::Status ReadAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto maps = ReadMaps(*writer_, options_.retained_revisions);
    return Explained(maps.status());
  }

  absl::Status CountUnreferenced() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto bytes = UnreferencedBytes(*writer_);
    if (!bytes.ok()) return bytes.status();
    unreferenced_at_most_ = *bytes;
    return absl::OkStatus();
  }

  // Whether `more` bytes of content may come.
  absl::Status CheckUnreferenced(uint64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint64_t limit = options_.max_unreferenced_bytes;
    if (unreferenced_at_most_ + more > limit) {
      // Some of it may have come into use since it was counted.
      if (absl::Status status = CountUnreferenced(); !status.ok()) return status;
    }
    if (unreferenced_at_most_ + more <= limit) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("content that no revision refers to has ",
                                                     unreferenced_at_most_,
                                                     " bytes, and its limit is ", limit));
  }

  // One transaction that changes something.
  absl::Status Write(Sync sync, Body body) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return WriteLocked(sync, body);
  }

  absl::Status WriteLocked(Sync sync, Body body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!writable_.ok()) return writable_;
    absl::Status status = writer_->Execute(sync == Sync::kFull ? "PRAGMA synchronous = FULL"
                                                               : "PRAGMA synchronous = NORMAL");
    if (!status.ok()) return status;
    status =
        writer_->Transaction(SqliteDatabase::Begin::kImmediate, [&] { return body(*writer_); });
    if (writer_->sync_failed()) {
      StopWriting(status);
      return absl::InternalError(absl::StrCat(
          status.message(), "; whether this took place shows when the store is opened again"));
    }
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

  // One transaction that is on the disk when this returns.
  template <typename Result>
  absl::StatusOr<Result> Change(
      absl::FunctionRef<absl::StatusOr<Result>(SqliteDatabase&, const StoreTime&)> body) {
    absl::StatusOr<Result> result = absl::InternalError("");
    absl::Status status =
        Write(Sync::kFull, [&](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          result = body(database, clock_.Now());
          return result.status();
        });
    if (!status.ok()) return Explained(status);
    return result;
  }

  // One transaction that reads.
  template <typename Result>
  absl::StatusOr<Result> Ask(absl::FunctionRef<absl::StatusOr<Result>(SqliteDatabase&)> body) {
    absl::StatusOr<Result> result = absl::InternalError("");
    absl::Status status = Read([&](SqliteDatabase& database) {
      return database.Transaction(SqliteDatabase::Begin::kDeferred, [&] {
        result = body(database);
        return result.status();
      });
    });
    if (!status.ok()) return Explained(status);
    return result;
  }

  // Damage that is not of one content.
  absl::Status Explained(const absl::Status& status) const {
    return IsDamage(status) && durable() ? WithRemedy(status) : status;
  }

  // On a connection of the pool; in memory there is one connection for all.
  absl::Status Read(Body body) {
    if (!durable()) {
      const absl::MutexLock lock(&mutex_);
      return body(*writer_);
    }
    auto reader = TakeReader();
    if (!reader.ok()) return reader.status();
    absl::Status status = body(**reader);
    ReturnReader(*std::move(reader));
    return status;
  }

  absl::StatusOr<std::unique_ptr<SqliteDatabase>> TakeReader() ABSL_LOCKS_EXCLUDED(readers_mutex_) {
    {
      const absl::MutexLock lock(&readers_mutex_);
      const auto may_read = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(readers_mutex_) {
        return readers_in_use_ < kMaxReaders;
      };
      readers_mutex_.Await(absl::Condition(&may_read));
      ++readers_in_use_;
      if (!readers_.empty()) {
        auto reader = std::move(readers_.back());
        readers_.pop_back();
        return reader;
      }
    }
    auto reader = SqliteDatabase::Open(directory_ + "/maps.db", SqliteDatabase::Access::kRead);
    if (!reader.ok()) {
      const absl::MutexLock lock(&readers_mutex_);
      --readers_in_use_;
    }
    return reader;
  }

  void ReturnReader(std::unique_ptr<SqliteDatabase> reader) ABSL_LOCKS_EXCLUDED(readers_mutex_) {
    const absl::MutexLock lock(&readers_mutex_);
    --readers_in_use_;
    readers_.push_back(std::move(reader));
  }

  absl::Status ReportDamage(int64_t content, const Sha256Digest& digest,
                            const absl::Status& damage);

  const MapStoreOptions options_;
  const std::string directory_;
  const std::unique_ptr<DirectoryLock> lock_;  // null in memory
  std::vector<std::string> damage_;            // since Prepare constant

  absl::Mutex readers_mutex_;
  size_t readers_in_use_ ABSL_GUARDED_BY(readers_mutex_) = 0;
  std::vector<std::unique_ptr<SqliteDatabase>> readers_ ABSL_GUARDED_BY(readers_mutex_);

  absl::Mutex mutex_;
  StoreClock clock_ ABSL_GUARDED_BY(mutex_);
  absl::Status writable_ ABSL_GUARDED_BY(mutex_);
  std::set<int64_t> uploads_ ABSL_GUARDED_BY(mutex_);  // under way
  // Compressed bytes of content that no revision refers to, or more.
  uint64_t unreferenced_at_most_ ABSL_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<SqliteDatabase> writer_ ABSL_PT_GUARDED_BY(mutex_);
};

class SqliteUpload : public ContentUpload {
 public:
  explicit SqliteUpload(SqliteMapStore& store) : store_(store) {}
  SqliteUpload(const SqliteUpload&) = delete;
  SqliteUpload& operator=(const SqliteUpload&) = delete;

  ~SqliteUpload() override {
    if (content_ == 0) return;
    // Where this fails, Collect does it.
    bool all = named_;
    while (!all) {
      const absl::Status status =
          store_.Write(SqliteMapStore::Sync::kNormal, [&](SqliteDatabase& database) {
            const auto freed = FreeContent(database, content_, kPiecesFreedAtOnce);
            all = !freed.ok() || freed->all;
            return freed.status();
          });
      all = all || !status.ok();
    }
    const absl::MutexLock lock(&store_.mutex_);
    store_.uploads_.erase(content_);
  }

  absl::Status Append(absl::string_view bytes) override {
    if (!status_.ok()) return status_;
    status_ = CheckRoom();
    hash_.Update(bytes);
    while (status_.ok() && !bytes.empty()) {
      if (buffer_.size() == kMaxPieceBytes) status_ = KeepPiece();
      const absl::string_view part = bytes.substr(0, kMaxPieceBytes - buffer_.size());
      buffer_.append(part.data(), part.size());
      bytes.remove_prefix(part.size());
    }
    return status_;
  }

  absl::StatusOr<Sha256Digest> Finish() override {
    if (!status_.ok()) return status_;
    const auto piece = PackPiece(buffer_);
    if (!piece.ok()) return piece.status();
    const Sha256Digest digest = hash_.Finish();
    bool named = false;
    status_ = Keep(*piece,
                   [&](SqliteDatabase& database, int64_t content, int64_t unix_ns) -> absl::Status {
                     const auto result = NameUpload(database, content, digest, unix_ns);
                     if (!result.ok()) return result.status();
                     named = *result;
                     return absl::OkStatus();
                   });
    if (!status_.ok()) return status_;
    named_ = named;
    status_ = absl::FailedPreconditionError("the upload is finished");
    return digest;
  }

 private:
  // 32 MiB of content before compression.
  static constexpr uint64_t kPiecesFreedAtOnce = 16;

  absl::Status CheckRoom() {
    const absl::MutexLock lock(&store_.mutex_);
    return store_.CheckUnreferenced(1);
  }

  absl::Status KeepPiece() {
    const auto piece = PackPiece(buffer_);
    if (!piece.ok()) return piece.status();
    buffer_.clear();
    return Keep(*piece, [](SqliteDatabase&, int64_t, int64_t) { return absl::OkStatus(); });
  }

  // One transaction: a piece, and `then` with the content that it belongs to and the time.
  absl::Status Keep(
      const StoredPiece& piece,
      absl::FunctionRef<absl::Status(SqliteDatabase&, int64_t content, int64_t unix_ns)> then) {
    const absl::MutexLock lock(&store_.mutex_);
    absl::Status status = store_.CheckUnreferenced(piece.data.size());
    if (!status.ok()) return status;
    int64_t content = content_;
    status = store_.WriteLocked(
        SqliteMapStore::Sync::kNormal,
        [&](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_.mutex_) -> absl::Status {
          const int64_t now = store_.clock_.Now().store_unix_ns;
          if (content == 0) {
            const auto added = AddUpload(database, now);
            if (!added.ok()) return added.status();
            content = *added;
          }
          absl::Status added = AddPiece(database, content, pieces_, piece);
          return added.ok() ? then(database, content, now) : added;
        });
    if (!status.ok()) return status;
    content_ = content;
    ++pieces_;
    store_.uploads_.insert(content_);
    store_.unreferenced_at_most_ += piece.data.size();
    return status;
  }

  SqliteMapStore& store_;
  Sha256 hash_;
  std::string buffer_;
  int64_t content_ = 0;  // 0: no piece is kept yet
  uint64_t pieces_ = 0;
  bool named_ = false;  // the content is there under its digest
  absl::Status status_;
};

absl::StatusOr<std::unique_ptr<ContentUpload>> SqliteMapStore::Upload() {
  const absl::MutexLock lock(&mutex_);
  if (!writable_.ok()) return writable_;
  return std::make_unique<SqliteUpload>(*this);
}

absl::Status SqliteMapStore::ReadContent(const Sha256Digest& digest,
                                         absl::FunctionRef<absl::Status(absl::string_view)> take) {
  const auto absent = [&digest] {
    return absl::NotFoundError(absl::StrCat("no content ", ToHex(digest)));
  };
  std::optional<ContentRow> content;
  std::string quarantined_use;
  bool quarantined = false;
  absl::Status status = Read([&](SqliteDatabase& database) -> absl::Status {
    const auto found = FindContent(database, digest);
    if (!found.ok()) return found.status();
    content = *found;
    if (content.has_value()) return absl::OkStatus();
    const auto damaged = FindQuarantined(database, digest);
    if (!damaged.ok()) return damaged.status();
    quarantined = damaged->has_value();
    if (quarantined) quarantined_use = DescribeUse(database, **damaged);
    return absl::OkStatus();
  });
  if (!status.ok()) return Explained(status);
  if (quarantined) {
    return DamagedContent(digest, quarantined_use, "found so before; upload it again");
  }
  if (!content.has_value()) return absent();

  Sha256 hash;
  for (uint64_t i = 0; i < content->pieces; ++i) {
    std::optional<PackedPiece> packed;
    bool there = true;
    status = Read([&](SqliteDatabase& database) -> absl::Status {
      auto piece = ReadPiece(database, content->id, i);
      if (!piece.ok()) return piece.status();
      packed = *std::move(piece);
      if (packed.has_value()) return absl::OkStatus();
      const auto row = HasContentRow(database, content->id);
      if (row.ok()) there = *row;
      return row.status();
    });
    if (status.ok() && !there) return absent();  // it was freed meanwhile
    if (status.ok() && !packed.has_value()) {
      status = absl::DataLossError(absl::StrCat("piece ", i, " is missing"));
    }
    if (!status.ok()) {
      return IsDamage(status) ? ReportDamage(content->id, digest, status) : status;
    }
    const auto raw = UnpackPiece(packed->raw_bytes, packed->crc32c, packed->data);
    if (!raw.ok()) return ReportDamage(content->id, digest, raw.status());
    hash.Update(*raw);
    if (absl::Status taken = take(*raw); !taken.ok()) return taken;
  }
  if (hash.Finish() == digest) return absl::OkStatus();
  return ReportDamage(content->id, digest, absl::DataLossError("the bytes have another digest"));
}

absl::Status SqliteMapStore::ReportDamage(int64_t content, const Sha256Digest& digest,
                                          const absl::Status& damage) {
  std::string use;
  const absl::Status quarantined = Write(Sync::kNormal, [&](SqliteDatabase& database) {
    use = DescribeUse(database, content);
    return Quarantine(database, content);
  });
  return DamagedContent(
      digest, use,
      absl::StrCat(damage.message(), quarantined.ok() ? std::string("; upload it again")
                                                      : absl::StrCat("; it cannot be marked: ",
                                                                     quarantined.message())));
}

absl::StatusOr<CollectReport> SqliteMapStore::Collect() {
  CollectReport report;
  CollectLimits limits;
  const absl::Status forgotten =
      Write(Sync::kNormal, [&](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        const int64_t now = clock_.Now().store_unix_ns;
        limits.retained_revisions = options_.retained_revisions;
        limits.withdrawn_unix_ns = Before(now, ToNs(options_.withdrawn_for_s));
        limits.requests_unix_ns = Before(now, ToNs(options_.requests_for_s));
        limits.unreferenced_unix_ns = Before(now, ToNs(options_.unreferenced_for_s));
        limits.max_last_poses = options_.max_last_poses;
        limits.max_tile_fits = options_.max_tile_fits;
        return ForgetRevisions(database, limits, report);
      });
  if (!forgotten.ok()) return forgotten;
  const absl::Status freed =
      Write(Sync::kNormal, [&](SqliteDatabase& database) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return FreeUnreferenced(database, limits, uploads_, report);
      });
  if (!freed.ok()) return freed;
  const absl::Status shrunk = Write(Sync::kNormal, [&](SqliteDatabase& database) {
    return durable() ? ShrinkFile(database, report) : absl::OkStatus();
  });
  if (!shrunk.ok()) return shrunk;
  return report;
}

absl::Status SqliteMapStore::Backup(const std::string& path,
                                    absl::FunctionRef<bool(double)> progress) {
  std::unique_ptr<SqliteBackup> backup;
  {
    const absl::MutexLock lock(&mutex_);
    auto begun = SqliteBackup::Begin(*writer_, path);
    if (!begun.ok()) return begun.status();
    backup = *std::move(begun);
  }
  absl::Status status;
  for (double part = 0.0; status.ok() && part < 1.0;) {
    {
      const absl::MutexLock lock(&mutex_);
      const auto copied = backup->Step();
      if (copied.ok()) part = *copied;
      status = copied.status();
    }
    if (status.ok() && !progress(part)) status = absl::CancelledError("the backup was ended");
  }
  const absl::MutexLock lock(&mutex_);
  if (status.ok()) status = backup->Finish();
  backup.reset();
  return status;
}

absl::StatusOr<StoreUsage> SqliteMapStore::Usage() {
  StoreUsage usage;
  absl::Status status = Read([&](SqliteDatabase& database) -> absl::Status {
    if (!durable()) {
      const auto pages = database.Number("PRAGMA page_count");
      const auto page_bytes = database.Number("PRAGMA page_size");
      if (!pages.ok()) return pages.status();
      if (!page_bytes.ok()) return page_bytes.status();
      usage.bytes = static_cast<uint64_t>(*pages * *page_bytes);
    }
    return ReadContentUsage(database, usage);
  });
  if (!status.ok()) return Explained(status);
  if (durable()) {
    for (const char* const name : {"/maps.db", "/maps.db-wal"}) {
      struct stat file {};
      if (::stat((directory_ + name).c_str(), &file) == 0) {
        usage.bytes += static_cast<uint64_t>(file.st_size);
      }
    }
  }
  return usage;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MapStore>> OpenSqliteMapStore(const std::string& directory,
                                                             const MapStoreOptions& options) {
  auto lock = DirectoryLock::Take(directory);
  if (!lock.ok()) return lock.status();
  const std::string path = directory + "/maps.db";
  if (absl::Status status = WriteLogAgain(path); !status.ok()) return status;
  auto writer = SqliteDatabase::Open(path, SqliteDatabase::Access::kCreate);
  if (!writer.ok()) return writer.status();
  auto store =
      std::make_unique<SqliteMapStore>(options, directory, *std::move(lock), *std::move(writer));
  if (absl::Status status = store->Prepare(); !status.ok()) return status;
  return store;
}

absl::StatusOr<std::unique_ptr<MapStore>> MakeMemoryMapStore(const MapStoreOptions& options) {
  auto writer = SqliteDatabase::Open(":memory:", SqliteDatabase::Access::kCreate);
  if (!writer.ok()) return writer.status();
  auto store =
      std::make_unique<SqliteMapStore>(options, std::string(), nullptr, *std::move(writer));
  if (absl::Status status = store->Prepare(); !status.ok()) return status;
  return store;
}

}  // namespace voxloc::server
