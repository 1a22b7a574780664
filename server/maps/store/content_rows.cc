// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/content_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::server {

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

absl::StatusOr<bool> NameUpload(SqlDatabase& database, int64_t upload, const Sha256Digest& digest,
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

absl::StatusOr<std::optional<ContentRow>> FindContent(SqlDatabase& database,
                                                      const Sha256Digest& digest) {
  SqlQuery query(database,
                 "SELECT id, bytes, pieces FROM contents WHERE digest = ?1 AND quarantined = 0",
                 digest);
  if (query.Next()) return ContentRow{query.Int(0), query.UInt(1), query.UInt(2)};
  if (!query.status().ok()) return query.status();
  return std::nullopt;
}

absl::StatusOr<std::vector<std::string>> FindMapsWithContent(SqlDatabase& database,
                                                             const Sha256Digest& digest) {
  SqlQuery query(database,
                 "WITH content AS (SELECT id FROM contents WHERE digest = ?1) "
                 "SELECT name FROM maps WHERE deleted = 0 AND id IN ("
                 "SELECT map_id FROM tiles WHERE content_id IN (SELECT id FROM content) UNION "
                 "SELECT map_id FROM staged_tiles WHERE content_id IN (SELECT id FROM content)) "
                 "ORDER BY name",
                 digest);
  std::vector<std::string> names;
  while (query.Next()) names.push_back(query.Text(0));
  if (!query.status().ok()) return query.status();
  return names;
}

absl::StatusOr<std::optional<int64_t>> FindQuarantined(SqlDatabase& database,
                                                       const Sha256Digest& digest) {
  SqlQuery query(database,
                 "SELECT id FROM contents WHERE digest = ?1 AND quarantined = 1 "
                 "ORDER BY uses DESC LIMIT 1",
                 digest);
  if (query.Next()) return query.Int(0);
  if (!query.status().ok()) return query.status();
  return std::nullopt;
}

absl::StatusOr<bool> HasContentRow(SqlDatabase& database, int64_t content) {
  const auto count = database.Number(
      "SELECT COUNT(*) FROM contents WHERE id = ?1 AND digest IS NOT NULL", content);
  if (!count.ok()) return count.status();
  return *count > 0;
}

absl::StatusOr<std::optional<PackedPiece>> ReadPiece(SqlDatabase& database, int64_t content,
                                                     uint64_t index) {
  SqlQuery query(database,
                 "SELECT raw_bytes, crc32c, data FROM pieces WHERE content_id = ?1 AND piece = ?2",
                 content, index);
  std::optional<PackedPiece> piece;
  if (query.Next()) {
    piece = PackedPiece{query.UInt(0), static_cast<uint32_t>(query.Int(1)), query.Text(2)};
  }
  if (!query.status().ok()) return query.status();
  return piece;
}

absl::Status Quarantine(SqlDatabase& database, int64_t content) {
  return database.Run("UPDATE contents SET quarantined = 1, wanted_unix_ns = ?2 WHERE id = ?1",
                      content, kNeverWanted);
}

std::string DescribeUse(SqlDatabase& database, int64_t content) {
  SqlQuery query(database,
                 "SELECT t.tile_id, m.name FROM tiles t JOIN maps m ON m.id = t.map_id "
                 "WHERE t.content_id = ?1 AND m.deleted = 0 "
                 "ORDER BY t.to_revision IS NOT NULL, m.name, t.tile_id LIMIT 1",
                 content);
  if (!query.Next()) return "";
  return absl::StrCat("tile \"", query.Bytes(0), "\" of map \"", query.Bytes(1), "\"");
}

absl::StatusOr<std::vector<bool>> WantContent(SqlDatabase& database,
                                              absl::Span<const Sha256Digest> digests,
                                              int64_t unix_ns, int64_t fresh_ns) {
  std::vector<bool> there;
  there.reserve(digests.size());
  for (const Sha256Digest& digest : digests) {
    int64_t id = 0;
    int64_t wanted = 0;
    {
      SqlQuery query(
          database, "SELECT id, wanted_unix_ns FROM contents WHERE digest = ?1 AND quarantined = 0",
          digest);
      if (query.Next()) {
        id = query.Int(0);
        wanted = query.Int(1);
      }
      if (!query.status().ok()) return query.status();
    }
    there.push_back(id != 0);
    if (id == 0 || wanted > unix_ns - fresh_ns) continue;
    if (absl::Status status =
            database.Run("UPDATE contents SET wanted_unix_ns = ?2 WHERE id = ?1", id, unix_ns);
        !status.ok()) {
      return status;
    }
  }
  return there;
}

absl::StatusOr<FreedContent> FreeContent(SqlDatabase& database, int64_t content,
                                         uint64_t max_pieces) {
  FreedContent freed;
  std::vector<std::pair<int64_t, uint64_t>> pieces;
  {
    SqlQuery query(database,
                   "SELECT piece, LENGTH(data) FROM pieces WHERE content_id = ?1 LIMIT ?2", content,
                   max_pieces + 1);
    while (query.Next()) pieces.emplace_back(query.Int(0), query.UInt(1));
    if (!query.status().ok()) return query.status();
  }
  freed.all = pieces.size() <= max_pieces;
  if (!freed.all) pieces.pop_back();
  for (const auto& [piece, bytes] : pieces) {
    absl::Status status =
        database.Run("DELETE FROM pieces WHERE content_id = ?1 AND piece = ?2", content, piece);
    if (!status.ok()) return status;
    freed.bytes += bytes;
    ++freed.pieces;
  }
  absl::Status status =
      freed.all ? database.Run("DELETE FROM contents WHERE id = ?1", content)
                : database.Run(
                      "UPDATE contents SET digest = NULL, stored_bytes = stored_bytes - ?2, "
                      "wanted_unix_ns = ?3 WHERE id = ?1",
                      content, freed.bytes, kNeverWanted);
  if (!status.ok()) return status;
  return freed;
}

absl::StatusOr<uint64_t> UnreferencedBytes(SqlDatabase& database) {
  const auto bytes = database.Number(
      "SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) FROM contents WHERE uses = 0");
  if (!bytes.ok()) return bytes.status();
  return static_cast<uint64_t>(*bytes);
}

absl::Status ReadContentUsage(SqlDatabase& database, StoreUsage& usage) {
  const auto unreferenced = UnreferencedBytes(database);
  if (!unreferenced.ok()) return unreferenced.status();
  usage.unreferenced_bytes = *unreferenced;
  SqlQuery query(
      database,
      "SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT), COUNT(digest) FROM contents");
  if (query.Next()) {
    usage.content_bytes = query.UInt(0);
    usage.contents = query.UInt(1);
  }
  return query.status();
}

}  // namespace voxloc::server
