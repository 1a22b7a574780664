// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/map_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/status/try.h"
#include "server/maps/store/contents.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

// The time to expiry is renewed only after 1 / this of it has passed: each renewal is a write.
constexpr int64_t kRefreshDivisor = 16;
// Uploads of other servers in this time may exceed the limit of unreferenced content. A
// link of 10 Gbit/s brings 1.25 GB in this time, 2 % of the limit's default.
constexpr absl::Duration kRecountAfter = absl::Seconds(1);

// `use`: the tile that uses the content; may be empty.
absl::Status DamagedContent(const Sha256Digest& digest, absl::string_view use,
                            absl::string_view detail) {
  return absl::DataLossError(absl::StrCat("content ", ToHex(digest), use.empty() ? "" : " of ", use,
                                          " is damaged: ", detail));
}

// For messages: where the content is used, as `tile "3_4" of map "town"`; empty: nowhere.
std::string DescribeUse(SqlDatabase& database, int64_t content) {
  const auto use = database.ReadFirst(
      [](const SqlRows& row) {
        return absl::StrCat("tile \"", row.Bytes(0), "\" of map \"", row.Bytes(1), "\"");
      },
      "SELECT t.tile_id, m.name FROM tiles t JOIN maps m ON m.id = t.map_id "
      "WHERE t.content_id = ?1 AND m.deleted = 0 "
      "ORDER BY t.to_revision IS NOT NULL, m.name, t.tile_id LIMIT 1",
      content);
  return use.ok() ? use->value_or("") : "";
}

// A compressed piece. DataLoss: missing or unreadable. NotFound: the content was freed.
absl::StatusOr<StoredPiece> ReadPiece(SqlDatabase& database, int64_t content, uint64_t index) {
  VOXLOC_ASSIGN_OR_RETURN(
      auto piece,
      database.ReadFirst(
          [](const SqlRows& row) {
            return StoredPiece{row.UInt(0), static_cast<uint32_t>(row.Int(1)), row.Text(2)};
          },
          "SELECT raw_bytes, crc32c, data FROM pieces WHERE content_id = ?1 AND piece = ?2",
          content, index));
  if (piece.has_value()) return *std::move(piece);
  VOXLOC_ASSIGN_OR_RETURN(
      const auto contents,
      database.Number("SELECT COUNT(*) FROM contents WHERE id = ?1 AND digest IS NOT NULL",
                      content));
  if (contents == 0) return absl::NotFoundError("it was freed");
  return absl::DataLossError(absl::StrCat("piece ", index, " is missing"));
}

// Compressed bytes of content that no revision refers to.
absl::StatusOr<uint64_t> UnreferencedBytes(SqlDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto bytes,
      database.Number(
          "SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) FROM contents WHERE uses = 0"));
  return static_cast<uint64_t>(bytes);
}

}  // namespace

MapStore::MapStore(std::unique_ptr<SqlBackend> backend, const MapStoreOptions& options)
    : backend_(std::move(backend)), options_(options) {}

MapStore::~MapStore() = default;

bool MapStore::durable() const { return backend_->durable(); }

std::vector<std::string> MapStore::damage() const { return backend_->damage(); }

bool MapStore::shared() const { return backend_->shared(); }

std::unique_ptr<StoreWatch> MapStore::Watch() { return backend_->Watch(); }

absl::Status MapStore::Backup(const std::string& path, absl::FunctionRef<bool(double)> progress) {
  return backend_->Backup(path, progress);
}

absl::StatusOr<std::unique_ptr<ContentUpload>> MapStore::Upload() {
  VOXLOC_TRY(backend_->CheckWritable());
  return std::make_unique<ContentUpload>(*this);
}

absl::StatusOr<std::vector<bool>> MapStore::HasContent(absl::Span<const Sha256Digest> digests) {
  std::vector<bool> there;
  there.reserve(digests.size());
  const auto note = [&](SqlDatabase& database, const StoreTime& now) -> absl::Status {
    const int64_t fresh_ns = ToStoreNs(options_.unreferenced_for_s) / kRefreshDivisor;
    for (const Sha256Digest& digest : digests) {
      VOXLOC_ASSIGN_OR_RETURN(
          const auto content,
          database.ReadFirst(
              [](const SqlRows& row) { return std::make_pair(row.Int(0), row.Int(1)); },
              "SELECT id, wanted_unix_ns FROM contents WHERE digest = ?1 AND quarantined = 0",
              digest));
      there.push_back(content.has_value());
      if (!content.has_value() || content->second > now.store_unix_ns - fresh_ns) continue;
      VOXLOC_TRY(database.Run("UPDATE contents SET wanted_unix_ns = ?2 WHERE id = ?1",
                              content->first, now.store_unix_ns));
    }
    return absl::OkStatus();
  };
  VOXLOC_TRY(backend_->Write(SqlBackend::Sync::kNormal, note));
  return there;
}

absl::StatusOr<std::vector<std::string>> MapStore::MapsWithContent(const Sha256Digest& digest) {
  return backend_->Query([&](SqlDatabase& database) {
    return database.ReadAll(
        [](const SqlRows& row) { return row.Text(0); },
        "WITH content AS (SELECT id FROM contents WHERE digest = ?1) "
        "SELECT name FROM maps WHERE deleted = 0 AND id IN ("
        "SELECT map_id FROM tiles WHERE content_id IN (SELECT id FROM content) UNION "
        "SELECT map_id FROM staged_tiles WHERE content_id IN (SELECT id FROM content)) "
        "ORDER BY name",
        digest);
  });
}

absl::Status MapStore::ReadContent(const Sha256Digest& digest,
                                   absl::FunctionRef<absl::Status(absl::string_view)> consume) {
  const auto absent = [&digest] {
    return absl::NotFoundError(absl::StrCat("no content ", ToHex(digest)));
  };
  std::optional<ContentRow> content;
  std::optional<std::string> quarantined_use;
  absl::Status status = backend_->Read([&](SqlDatabase& database) -> absl::Status {
    VOXLOC_ASSIGN_OR_RETURN(content, FindContent(database, digest));
    if (content.has_value()) return absl::OkStatus();
    // Quarantined content may be in use until it is uploaded again.
    VOXLOC_ASSIGN_OR_RETURN(
        const auto quarantined,
        database.ReadFirst([](const SqlRows& row) { return row.Int(0); },
                           "SELECT id FROM contents WHERE digest = ?1 AND quarantined = 1 "
                           "ORDER BY uses DESC LIMIT 1",
                           digest));
    if (quarantined.has_value()) quarantined_use = DescribeUse(database, *quarantined);
    return absl::OkStatus();
  });
  if (!status.ok()) return backend_->AnnotateError(status);
  if (quarantined_use.has_value()) {
    return DamagedContent(digest, *quarantined_use, "found so before; upload it again");
  }
  if (!content.has_value()) return absent();

  Sha256 hash;
  for (uint64_t i = 0; i < content->pieces; ++i) {
    StoredPiece piece;
    status = backend_->Read([&](SqlDatabase& database) -> absl::Status {
      VOXLOC_ASSIGN_OR_RETURN(piece, ReadPiece(database, content->id, i));
      return absl::OkStatus();
    });
    if (absl::IsNotFound(status)) return absent();
    if (absl::IsDataLoss(status)) return ReportDamage(content->id, digest, status);
    if (!status.ok()) return status;
    const auto raw = UnpackPiece(piece);
    if (!raw.ok()) return ReportDamage(content->id, digest, raw.status());
    hash.Update(*raw);
    VOXLOC_TRY(consume(*raw));
  }
  if (hash.Finish() == digest) return absl::OkStatus();
  return ReportDamage(content->id, digest, absl::DataLossError("the bytes have another digest"));
}

absl::Status MapStore::ReportDamage(int64_t content, const Sha256Digest& digest,
                                    const absl::Status& damage) {
  std::string use;
  const absl::Status quarantined = backend_->Write(
      SqlBackend::Sync::kNormal, [&](SqlDatabase& database, const StoreTime& /*now*/) {
        use = DescribeUse(database, content);
        return database.Run(
            "UPDATE contents SET quarantined = 1, wanted_unix_ns = ?2 WHERE id = ?1", content,
            kExpiredUnixNs);
      });
  return DamagedContent(
      digest, use,
      absl::StrCat(damage.message(), quarantined.ok() ? std::string("; upload it again")
                                                      : absl::StrCat("; it cannot be marked: ",
                                                                     quarantined.message())));
}

absl::StatusOr<StoreUsage> MapStore::Usage() {
  StoreUsage usage;
  absl::Status status = backend_->Read([&](SqlDatabase& database) -> absl::Status {
    VOXLOC_ASSIGN_OR_RETURN(usage.bytes, backend_->StoredBytes(database));
    VOXLOC_ASSIGN_OR_RETURN(usage.unreferenced_bytes, UnreferencedBytes(database));
    const auto query = database.Query(
        "SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT), COUNT(digest) FROM contents");
    if (query->Next()) {
      usage.content_bytes = query->UInt(0);
      usage.contents = query->UInt(1);
    }
    return query->status();
  });
  if (!status.ok()) return backend_->AnnotateError(status);
  return usage;
}

absl::Status MapStore::CheckUnreferenced(uint64_t more) {
  const uint64_t limit = options_.max_unreferenced_bytes;
  {
    const absl::MutexLock lock(&uploads_mutex_);
    const bool fresh = counted_at_ != absl::InfinitePast() &&
                       (!shared() || absl::Now() - counted_at_ < kRecountAfter);
    if (fresh && unreferenced_upper_bound_ + more <= limit) return absl::OkStatus();
  }
  // Some of it may have come into use since it was counted.
  uint64_t bytes = 0;
  VOXLOC_TRY(backend_->Read([&](SqlDatabase& database) -> absl::Status {
    VOXLOC_ASSIGN_OR_RETURN(bytes, UnreferencedBytes(database));
    return absl::OkStatus();
  }));
  const absl::MutexLock lock(&uploads_mutex_);
  unreferenced_upper_bound_ = bytes;
  counted_at_ = absl::Now();
  if (bytes + more <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("content that no revision refers to has ", bytes,
                                                   " bytes, and its limit is ", limit));
}

}  // namespace voxloc::server
