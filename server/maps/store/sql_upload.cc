// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sql_upload.h"

#include "server/maps/store/content_rows.h"

namespace voxloc::server {
namespace {

// 32 MiB of content before compression.
constexpr uint64_t kPiecesFreedAtOnce = 16;

}  // namespace

SqlUpload::~SqlUpload() {
  if (content_ == 0) return;
  // Where this fails, Collect does it.
  bool all = named_;
  while (!all) {
    const absl::Status status =
        store_.Write(SqlMapStore::Sync::kNormal, [&](SqlDatabase& database, const StoreTime&) {
          const auto freed = FreeContent(database, content_, kPiecesFreedAtOnce);
          all = !freed.ok() || freed->all;
          return freed.status();
        });
    all = all || !status.ok();
  }
  store_.EndUpload(content_);
}

absl::Status SqlUpload::Append(absl::string_view bytes) {
  if (!status_.ok()) return status_;
  status_ = store_.CheckUnreferenced(1);
  hash_.Update(bytes);
  while (status_.ok() && !bytes.empty()) {
    if (buffer_.size() == kMaxPieceBytes) status_ = KeepPiece();
    const absl::string_view part = bytes.substr(0, kMaxPieceBytes - buffer_.size());
    buffer_.append(part.data(), part.size());
    bytes.remove_prefix(part.size());
  }
  return status_;
}

absl::StatusOr<Sha256Digest> SqlUpload::Finish() {
  if (!status_.ok()) return status_;
  const auto piece = PackPiece(buffer_);
  if (!piece.ok()) return piece.status();
  const Sha256Digest digest = hash_.Finish();
  bool named = false;
  status_ =
      Keep(*piece, [&](SqlDatabase& database, int64_t content, int64_t unix_ns) -> absl::Status {
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

absl::Status SqlUpload::KeepPiece() {
  const auto piece = PackPiece(buffer_);
  if (!piece.ok()) return piece.status();
  buffer_.clear();
  return Keep(*piece, [](SqlDatabase&, int64_t, int64_t) { return absl::OkStatus(); });
}

absl::Status SqlUpload::Keep(
    const StoredPiece& piece,
    absl::FunctionRef<absl::Status(SqlDatabase&, int64_t content, int64_t unix_ns)> then) {
  absl::Status status = store_.CheckUnreferenced(piece.data.size());
  if (!status.ok()) return status;
  int64_t content = content_;
  status = store_.Write(
      SqlMapStore::Sync::kNormal, [&](SqlDatabase& database, const StoreTime& now) -> absl::Status {
        if (content == 0) {
          const auto added = AddUpload(database, now.store_unix_ns, store_.UploadWanted(now));
          if (!added.ok()) return added.status();
          content = *added;
          store_.BeginUpload(content);  // before others can see it
        }
        absl::Status added = AddPiece(database, content, pieces_, piece);
        return added.ok() ? then(database, content, now.store_unix_ns) : added;
      });
  if (!status.ok()) {
    if (content_ == 0 && content != 0) store_.EndUpload(content);
    return status;
  }
  content_ = content;
  ++pieces_;
  store_.AddUnreferenced(piece.data.size());
  return status;
}

}  // namespace voxloc::server
