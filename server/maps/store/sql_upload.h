// SPDX-License-Identifier: Apache-2.0
//
// SqlUpload: the ContentUpload of an SqlMapStore.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQL_UPLOAD_H_
#define VOXLOC_SERVER_MAPS_STORE_SQL_UPLOAD_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/checksum/sha256.h"
#include "server/maps/store/content_piece.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_map_store.h"

namespace voxloc::server {

class SqlUpload : public ContentUpload {
 public:
  explicit SqlUpload(SqlMapStore& store) : store_(store) {}
  SqlUpload(const SqlUpload&) = delete;
  SqlUpload& operator=(const SqlUpload&) = delete;
  ~SqlUpload() override;

  absl::Status Append(absl::string_view bytes) override;
  absl::StatusOr<Sha256Digest> Finish() override;

 private:
  [[nodiscard]] absl::Status KeepPiece();
  // One transaction: a piece, and `then` with the content that it belongs to and the time.
  [[nodiscard]] absl::Status Keep(
      const StoredPiece& piece,
      absl::FunctionRef<absl::Status(SqlDatabase&, int64_t content, int64_t unix_ns)> then);

  SqlMapStore& store_;
  Sha256 hash_;
  std::string buffer_;
  int64_t content_ = 0;  // 0: no piece is kept yet
  uint64_t pieces_ = 0;
  bool named_ = false;  // the content is there under its digest
  absl::Status status_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQL_UPLOAD_H_
