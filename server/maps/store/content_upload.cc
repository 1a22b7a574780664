// SPDX-License-Identifier: Apache-2.0

#include "core/status/try.h"
#include "server/maps/store/content_piece.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/rows.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

// 32 MiB of content before compression.
constexpr uint64_t kPiecesPerFree = 16;

// A row for an upload; it has no digest, and no pieces yet.
absl::StatusOr<int64_t> AddUpload(SqlDatabase& database, int64_t unix_ns, int64_t wanted_unix_ns) {
  return database.Number(
      "INSERT INTO contents (digest, bytes, stored_bytes, pieces, uses, created_unix_ns, "
      "wanted_unix_ns, quarantined) VALUES (NULL, 0, 0, 0, 0, ?1, ?2, 0) RETURNING id",
      unix_ns, wanted_unix_ns);
}

absl::Status AddPiece(SqlDatabase& database, int64_t content, uint64_t index,
                      const StoredPiece& piece) {
  absl::Status status = database.Run(
      "INSERT INTO pieces (content_id, piece, raw_bytes, crc32c, data) VALUES (?1, ?2, ?3, ?4, ?5)",
      content, index, piece.raw_bytes, piece.crc32c, SqlBlob{piece.data});
  if (!status.ok()) return status;
  return database.Run(
      "UPDATE contents SET bytes = bytes + ?2, stored_bytes = stored_bytes + ?3, "
      "pieces = pieces + 1 WHERE id = ?1",
      content, piece.raw_bytes, piece.data.size());
}

// Gives an upload its digest. If the content already exists, its time to expiry is renewed and the
// upload stays unnamed. If it exists only quarantined, all references are moved to the upload.
// Returns whether the upload is now the content of this digest.
absl::StatusOr<bool> AssignDigest(SqlDatabase& database, int64_t upload, const Sha256Digest& digest,
                                  int64_t unix_ns) {
  absl::Status status =
      database.Run("UPDATE contents SET wanted_unix_ns = ?2 WHERE digest = ?1 AND quarantined = 0",
                   digest, unix_ns);
  if (!status.ok()) return status;
  if (database.changes() > 0) return false;

  std::vector<int64_t> damaged;
  {
    SqlQuery query(database, "SELECT id FROM contents WHERE digest = ?1 AND quarantined = 1",
                   digest);
    while (query.Next()) damaged.push_back(query.Int(0));
    if (!query.status().ok()) return query.status();
  }
  int64_t uses = 0;
  for (const int64_t old : damaged) {
    status = database.Run("UPDATE tiles SET content_id = ?2 WHERE content_id = ?1", old, upload);
    if (!status.ok()) return status;
    uses += database.changes();
    status =
        database.Run("UPDATE staged_tiles SET content_id = ?2 WHERE content_id = ?1", old, upload);
    if (!status.ok()) return status;
    uses += database.changes();
    status = database.Run("UPDATE contents SET uses = 0 WHERE id = ?1", old);
    if (!status.ok()) return status;
  }
  status = database.Run(
      "UPDATE contents SET digest = ?2, uses = ?3, created_unix_ns = ?4, wanted_unix_ns = ?4 "
      "WHERE id = ?1",
      upload, digest, uses, unix_ns);
  if (!status.ok()) return status;
  return true;
}

}  // namespace

ContentUpload::~ContentUpload() {
  if (content_ == 0) return;
  // Where this fails, Collect does it.
  bool all = named_;
  while (!all) {
    const absl::Status status = store_.backend_->Write(
        SqlBackend::Sync::kNormal, [&](SqlDatabase& database, const StoreTime& /*now*/) {
          const auto freed = FreeContent(database, content_, kPiecesPerFree);
          all = !freed.ok() || freed->all;
          return freed.status();
        });
    all = all || !status.ok();
  }
  const absl::MutexLock lock(&store_.uploads_mutex_);
  store_.uploads_.erase(content_);
}

absl::Status ContentUpload::Append(absl::string_view bytes) {
  if (!status_.ok()) return status_;
  status_ = store_.CheckUnreferenced(1);
  hash_.Update(bytes);
  while (status_.ok() && !bytes.empty()) {
    if (buffer_.size() == kMaxPieceBytes) status_ = WritePiece(nullptr);
    const absl::string_view part = bytes.substr(0, kMaxPieceBytes - buffer_.size());
    buffer_.append(part.data(), part.size());
    bytes.remove_prefix(part.size());
  }
  return status_;
}

absl::StatusOr<Sha256Digest> ContentUpload::Finish() {
  if (!status_.ok()) return status_;
  const Sha256Digest digest = hash_.Finish();
  status_ = WritePiece(&digest);
  if (!status_.ok()) return status_;
  status_ = absl::FailedPreconditionError("the upload is finished");
  return digest;
}

absl::Status ContentUpload::WritePiece(const Sha256Digest* digest) {
  VOXLOC_ASSIGN_OR_RETURN(const auto piece, PackPiece(buffer_));
  buffer_.clear();
  absl::Status status = store_.CheckUnreferenced(piece.data.size());
  if (!status.ok()) return status;
  int64_t content = content_;
  bool named = false;
  const auto keep = [&](SqlDatabase& database, const StoreTime& now) -> absl::Status {
    if (content == 0) {
      // Nothing but a collection of this process knows which uploads are under way, so where there
      // are other processes, uploads expire as content does.
      VOXLOC_ASSIGN_OR_RETURN(content,
                              AddUpload(database, now.store_unix_ns,
                                        store_.shared() ? now.store_unix_ns : kExpiredUnixNs));
      const absl::MutexLock lock(&store_.uploads_mutex_);
      store_.uploads_.insert(content);  // before others can see it
    }
    absl::Status added = AddPiece(database, content, pieces_, piece);
    if (!added.ok() || digest == nullptr) return added;
    const auto result = AssignDigest(database, content, *digest, now.store_unix_ns);
    if (result.ok()) named = *result;
    return result.status();
  };
  status = store_.backend_->Write(SqlBackend::Sync::kNormal, keep);
  const absl::MutexLock lock(&store_.uploads_mutex_);
  if (!status.ok()) {
    if (content_ == 0 && content != 0) store_.uploads_.erase(content);
    return status;
  }
  content_ = content;
  ++pieces_;
  named_ = named;
  store_.unreferenced_upper_bound_ += piece.data.size();
  return status;
}

}  // namespace voxloc::server
