// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/status/try.h"

namespace voxloc::server {

absl::StatusOr<std::optional<ContentRow>> FindContent(SqlDatabase& database,
                                                      const Sha256Digest& digest) {
  SqlQuery query(database, "SELECT id, pieces FROM contents WHERE digest = ?1 AND quarantined = 0",
                 digest);
  if (query.Next()) return ContentRow{query.Int(0), query.UInt(1)};
  if (!query.status().ok()) return query.status();
  return std::nullopt;
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
    VOXLOC_TRY(
        database.Run("DELETE FROM pieces WHERE content_id = ?1 AND piece = ?2", content, piece));
    freed.bytes += bytes;
    ++freed.pieces;
  }
  VOXLOC_TRY(freed.all ? database.Run("DELETE FROM contents WHERE id = ?1", content)
                       : database.Run(
                             "UPDATE contents SET digest = NULL, stored_bytes = stored_bytes - ?2, "
                             "wanted_unix_ns = ?3 WHERE id = ?1",
                             content, freed.bytes, kExpiredUnixNs));
  return freed;
}

absl::StatusOr<uint64_t> OldestRetained(SqlDatabase& database, int64_t map_id, uint32_t retained) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto oldest,
      database.Number("SELECT COALESCE(MIN(revision), 0) FROM (SELECT revision FROM revisions "
                      "WHERE map_id = ?1 "
                      "AND state = 0 AND kept = 1 ORDER BY revision DESC LIMIT ?2) AS newest",
                      map_id, std::max(retained, 1U)));
  return static_cast<uint64_t>(oldest);
}

}  // namespace voxloc::server
