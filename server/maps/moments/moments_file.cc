// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_file.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/maps/store/directory_lock.h"

namespace voxloc::server {
namespace {

// "VXMC": marks the file as this cache.
constexpr int64_t kApplicationId = 0x56584d43;
// Of the tables below. The low 16 bits of the file's version are that of the moments.
constexpr int64_t kTablesVersion = 1;
// Pages of the log after which a transaction moves them into the file: 16 MiB.
constexpr int kCheckpointPages = 1000;
// Entries that one transaction of Shrink removes, so that the log stays short.
constexpr int kShrinkStep = 64;

// Pages of 16 KiB: an entry of some 100 kB lies in few of them, and half a page is lost at its end.
// The times of use lie apart from the bytes, which noting a use would write again.
constexpr char kTables[] = R"sql(
PRAGMA page_size = 16384;
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE moments (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL,
  lattices TEXT NOT NULL,
  data BLOB NOT NULL);
CREATE UNIQUE INDEX moments_by_key ON moments (digest, lattices);
CREATE TABLE uses (
  id INTEGER PRIMARY KEY,
  used_unix_s BIGINT NOT NULL,
  bytes BIGINT NOT NULL);
CREATE INDEX uses_by_age ON uses (used_unix_s, id);
)sql";

int64_t FileVersion(uint32_t version) { return kTablesVersion << 16 | int64_t{version}; }

// Stands before the bytes of an entry: whatever a damaged index leads to, it is not taken for the
// moments of another tile.
std::string PrefixOf(const MomentsKey& key) {
  return absl::StrCat(
      absl::string_view(reinterpret_cast<const char*>(key.digest.data()), key.digest.size()),
      key.lattices, absl::string_view("\0", 1));
}

absl::Status Prepare(SqliteDatabase& database, uint32_t version) {
  const auto tables = database.Number("SELECT COUNT(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  const int64_t expected = FileVersion(version);
  if (*tables == 0) {
    const std::string make = absl::StrCat(kTables, "PRAGMA application_id = ", kApplicationId,
                                          "; PRAGMA user_version = ", expected, "; COMMIT;");
    if (absl::Status status = database.Execute(make.c_str()); !status.ok()) return status;
  } else {
    const auto application = database.Number("PRAGMA application_id");
    if (!application.ok()) return application.status();
    const auto found = database.Number("PRAGMA user_version");
    if (!found.ok()) return found.status();
    if (*application != kApplicationId || *found != expected) {
      return absl::FailedPreconditionError(absl::StrCat(database.path(), " has version ", *found,
                                                        ", and this program writes ", expected));
    }
  }
  // Losing the file costs a build of each tile, so nothing waits for the disk.
  return database.Execute("PRAGMA synchronous = OFF; PRAGMA journal_size_limit = 67108864");
}

}  // namespace

absl::StatusOr<std::unique_ptr<MomentsFile>> MomentsFile::Open(const std::string& path,
                                                               uint32_t version) {
  auto writer = SqliteDatabase::Open(path, SqliteDatabase::Access::kCreate);
  if (!writer.ok()) return writer.status();
  if (absl::Status status = Prepare(**writer, version); !status.ok()) return status;
  auto reader = SqliteDatabase::Open(path, SqliteDatabase::Access::kWrite);
  if (!reader.ok()) return reader.status();
  const auto bytes = (*writer)->Number("SELECT COALESCE(SUM(bytes), 0) FROM uses");
  if (!bytes.ok()) return bytes.status();
  auto file = absl::WrapUnique(new MomentsFile(*std::move(writer), *std::move(reader)));
  const absl::MutexLock lock(&file->writing_);
  file->bytes_ = *bytes;
  return file;
}

absl::Status MomentsFile::Remove(const std::string& path) {
  for (const char* const end : {"", "-wal", "-shm"}) {
    const std::string name = path + end;
    if (std::remove(name.c_str()) != 0 && errno != ENOENT) {
      return SystemError(absl::StrCat(name, " cannot be removed"), errno);
    }
  }
  return absl::OkStatus();
}

MomentsFile::~MomentsFile() {
  const absl::MutexLock lock(&writing_);
  // The log holds what this would move.
  writer_->Checkpoint(true).IgnoreError();
}

absl::Status MomentsFile::Change(absl::FunctionRef<absl::Status(int64_t&)> body) {
  int64_t growth = 0;
  absl::Status status =
      writer_->Transaction(SqliteDatabase::Begin::kImmediate, [&] { return body(growth); });
  if (!status.ok()) return status;
  bytes_ += growth;
  return writer_->wal_pages() < kCheckpointPages ? status : writer_->Checkpoint(false);
}

absl::StatusOr<std::optional<MomentsFile::Entry>> MomentsFile::Read(const MomentsKey& key) {
  Entry entry;
  {
    const absl::MutexLock lock(&reading_);
    SqlQuery query(*reader_,
                   "SELECT m.id, u.used_unix_s, m.data FROM moments m JOIN uses u ON u.id = m.id "
                   "WHERE m.digest = ?1 AND m.lattices = ?2",
                   key.digest, key.lattices);
    if (!query.Next()) {
      if (!query.status().ok()) return query.status();
      return std::nullopt;
    }
    entry.id = query.Int(0);
    entry.used_unix_s = query.Int(1);
    const std::string prefix = PrefixOf(key);
    const absl::string_view data = query.Bytes(2);
    if (!absl::StartsWith(data, prefix)) {
      return absl::DataLossError(
          absl::StrCat(reader_->path(), ": entry ", entry.id, " is another's"));
    }
    entry.bytes = std::string(data.substr(prefix.size()));
  }
  return entry;
}

absl::Status MomentsFile::Write(const MomentsKey& key, absl::string_view bytes,
                                int64_t used_unix_s) {
  const std::string data = absl::StrCat(PrefixOf(key), bytes);
  const absl::MutexLock lock(&writing_);
  return Change([&](int64_t& growth) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_) -> absl::Status {
    int64_t old = 0;
    {
      SqlQuery query(*writer_, "SELECT id FROM moments WHERE digest = ?1 AND lattices = ?2",
                     key.digest, key.lattices);
      if (query.Next()) old = query.Int(0);
      if (!query.status().ok()) return query.status();
    }
    if (old != 0) {
      if (absl::Status status = EraseRow(old, growth); !status.ok()) return status;
    }
    const auto id = writer_->Number(
        "INSERT INTO moments (digest, lattices, data) VALUES (?1, ?2, ?3) RETURNING id", key.digest,
        key.lattices, SqlBlob{data});
    if (!id.ok()) return id.status();
    growth += static_cast<int64_t>(data.size());
    return writer_->Run("INSERT INTO uses (id, used_unix_s, bytes) VALUES (?1, ?2, ?3)", *id,
                        used_unix_s, data.size());
  });
}

absl::Status MomentsFile::EraseRow(int64_t id, int64_t& growth) {
  SqlQuery query(*writer_, "DELETE FROM uses WHERE id = ?1 RETURNING bytes", id);
  while (query.Next()) growth -= query.Int(0);
  if (!query.status().ok()) return query.status();
  return writer_->Run("DELETE FROM moments WHERE id = ?1", id);
}

absl::Status MomentsFile::Erase(const std::vector<int64_t>& ids) {
  const absl::MutexLock lock(&writing_);
  return Change([&](int64_t& growth) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_) {
    absl::Status status;
    for (const int64_t id : ids) status.Update(EraseRow(id, growth));
    return status;
  });
}

absl::Status MomentsFile::SetUsed(const std::vector<int64_t>& ids, int64_t used_unix_s) {
  const absl::MutexLock lock(&writing_);
  return Change([&](int64_t& /*growth*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_) {
    absl::Status status;
    for (const int64_t id : ids) {
      status.Update(
          writer_->Run("UPDATE uses SET used_unix_s = ?2 WHERE id = ?1", id, used_unix_s));
    }
    return status;
  });
}

absl::StatusOr<uint64_t> MomentsFile::Shrink(uint64_t max_bytes) {
  const auto most = static_cast<int64_t>(max_bytes);
  uint64_t removed = 0;
  const absl::MutexLock lock(&writing_);
  while (bytes_ > most) {
    size_t rows = 0;
    absl::Status status = Change([&](int64_t& growth) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_) {
      std::vector<int64_t> oldest;
      {
        int64_t their_bytes = 0;
        SqlQuery query(*writer_, "SELECT id, bytes FROM uses ORDER BY used_unix_s, id LIMIT ?1",
                       kShrinkStep);
        while (bytes_ - their_bytes > most && query.Next()) {
          oldest.push_back(query.Int(0));
          their_bytes += query.Int(1);
        }
        if (!query.status().ok()) return query.status();
      }
      absl::Status erasing;
      for (const int64_t id : oldest) erasing.Update(EraseRow(id, growth));
      rows = oldest.size();
      return erasing;
    });
    if (!status.ok()) return status;
    if (rows == 0) return absl::DataLossError(writer_->path() + ": the sizes of entries are lost");
    removed += rows;
  }
  return removed;
}

uint64_t MomentsFile::bytes() const {
  const absl::MutexLock lock(&writing_);
  return bytes_ < 0 ? 0 : static_cast<uint64_t>(bytes_);
}

}  // namespace voxloc::server
