// SPDX-License-Identifier: Apache-2.0

// Garbage collection of the store, in steps of bounded time.

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/status/try.h"
#include "server/maps/store/contents.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

// Limits of one step, during which other writers wait. A row takes 10 to 20 us, a piece up to 1 ms.
constexpr uint64_t kRowsPerStep = 1000;
constexpr uint64_t kPiecesPerStep = 32;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// Rows whose changed or wanted time (store's clock) is not after these expire.
struct CollectLimits {
  uint32_t retained_revisions = 0;
  int64_t withdrawn_unix_ns = 0;
  int64_t requests_unix_ns = 0;
  int64_t unreferenced_unix_ns = 0;
};

// So many seconds before a time, or the earliest time of all but kExpiredUnixNs.
int64_t Before(int64_t unix_ns, double seconds) {
  const int64_t ns = ToStoreNs(seconds);
  const int64_t earliest = kExpiredUnixNs + 1;
  return unix_ns < earliest + ns ? earliest : unix_ns - ns;
}

struct CollectedMap {
  int64_t id = 0;
  bool deleted = false;
};

// Of a row of tiles or staged_tiles.
struct TileKey {
  std::string tile;
  int64_t revision = 0;
  int64_t content = 0;  // 0: none
};

// Deletes these rows with `remove`, whose parameters are the key, and decrements the use count of
// their contents. `left` is decremented by the number of rows.
absl::Status RemoveTiles(SqlDatabase& database, int64_t map, const char* remove,
                         const std::vector<TileKey>& keys, uint64_t& left) {
  for (const TileKey& key : keys) {
    VOXLOC_TRY(database.Run(remove, map, key.tile, key.revision));
    if (key.content == 0) continue;
    VOXLOC_TRY(database.Run("UPDATE contents SET uses = uses - 1 WHERE id = ?1", key.content));
  }
  left -= std::min<uint64_t>(left, keys.size());
  return absl::OkStatus();
}

TileKey KeyOf(const SqlRows& row) { return {row.Text(0), row.Int(1), row.Int(2)}; }

int64_t NumberOf(const SqlRows& row) { return row.Int(0); }

// Clears `kept` of expired revisions and counts them.
absl::Status MarkExpired(SqlDatabase& database, const CollectedMap& map,
                         const CollectLimits& limits, CollectReport& report) {
  if (map.deleted) {
    VOXLOC_TRY(database.Run(
        "UPDATE revisions SET kept = 0 WHERE map_id = ?1 AND kept = 1 AND changed_unix_ns <= ?2",
        map.id, limits.withdrawn_unix_ns));
  } else {
    VOXLOC_ASSIGN_OR_RETURN(const auto oldest,
                            OldestRetained(database, map.id, limits.retained_revisions));
    VOXLOC_TRY(
        database.Run("UPDATE revisions SET kept = 0 WHERE map_id = ?1 AND kept = 1 AND "
                     "((state = 0 AND revision < ?2) OR (state = 2 AND changed_unix_ns <= ?3))",
                     map.id, oldest, limits.withdrawn_unix_ns));
  }
  report.revisions += static_cast<uint64_t>(database.changes());
  return absl::OkStatus();
}

// Tiles that ended before every revision that is kept, and every one that a staged one is based on.
absl::StatusOr<std::vector<TileKey>> EndedTiles(SqlDatabase& database, const CollectedMap& map,
                                                uint64_t limit) {
  VOXLOC_ASSIGN_OR_RETURN(const auto horizon,
                          database.Number("SELECT COALESCE(MIN(CASE WHEN state = 1 THEN parent "
                                          "ELSE revision END), 0) FROM revisions "
                                          "WHERE map_id = ?1 AND kept = 1 AND state IN (0, 1)",
                                          map.id));
  return database.ReadAll(KeyOf,
                          "SELECT tile_id, from_revision, content_id FROM tiles WHERE map_id = ?1 "
                          "AND to_revision IS NOT NULL AND to_revision <= ?2 LIMIT ?3",
                          map.id, horizon, limit);
}

absl::Status DeleteTiles(SqlDatabase& database, const CollectedMap& map, uint64_t& left) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto ended,
      map.deleted ? database.ReadAll(KeyOf,
                                     "SELECT tile_id, from_revision, content_id FROM tiles "
                                     "WHERE map_id = ?1 LIMIT ?2",
                                     map.id, left)
                  : EndedTiles(database, map, left));
  VOXLOC_TRY(RemoveTiles(
      database, map.id,
      "DELETE FROM tiles WHERE map_id = ?1 AND tile_id = ?2 AND from_revision = ?3", ended, left));
  VOXLOC_ASSIGN_OR_RETURN(
      const auto staged,
      database.ReadAll(KeyOf,
                       "SELECT s.tile_id, s.revision, s.content_id FROM revisions r "
                       "JOIN staged_tiles s ON s.map_id = r.map_id AND s.revision = r.revision "
                       "WHERE r.map_id = ?1 AND r.kept = 0 AND r.state IN (1, 2) LIMIT ?2",
                       map.id, left));
  return RemoveTiles(
      database, map.id,
      "DELETE FROM staged_tiles WHERE map_id = ?1 AND tile_id = ?2 AND revision = ?3", staged,
      left);
}

// Rows of revisions that only remember a request, and a map's own when it has nothing left.
absl::Status DeleteRevisionRows(SqlDatabase& database, const CollectedMap& map,
                                const CollectLimits& limits, uint64_t& left) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto revisions,
      database.ReadAll(NumberOf,
                       "SELECT revision FROM revisions WHERE map_id = ?1 AND kept = 0 AND "
                       "changed_unix_ns <= ?2 LIMIT ?3",
                       map.id, map.deleted ? kAll : limits.requests_unix_ns, left));
  for (const int64_t revision : revisions) {
    VOXLOC_TRY(
        database.Run("DELETE FROM canaries WHERE map_id = ?1 AND revision = ?2", map.id, revision));
    VOXLOC_TRY(database.Run("DELETE FROM revisions WHERE map_id = ?1 AND revision = ?2", map.id,
                            revision));
  }
  left -= std::min<uint64_t>(left, revisions.size());
  return absl::OkStatus();
}

// Deletes rows beyond `kept`, but at most `left`, with `remove`, whose parameter is how many go.
absl::Status DeleteOldest(SqlDatabase& database, const char* count, uint64_t kept,
                          const char* remove, uint64_t& left) {
  if (left == 0) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const auto counted, database.Number(count));
  const auto there = static_cast<uint64_t>(counted);
  if (there <= kept) return absl::OkStatus();
  absl::Status status = database.Run(remove, std::min(there - kept, left));
  left -= std::min(left, static_cast<uint64_t>(database.changes()));
  return status;
}

// Revisions, and rows of tiles that no revision has that can still be read.
absl::Status CollectRevisions(SqlDatabase& database, const CollectLimits& limits,
                              CollectReport& report, uint64_t& left) {
  VOXLOC_ASSIGN_OR_RETURN(const auto maps, database.ReadAll(
                                               [](const SqlRows& row) {
                                                 return CollectedMap{row.Int(0), row.Int(1) != 0};
                                               },
                                               "SELECT id, deleted FROM maps ORDER BY id"));
  for (const CollectedMap& map : maps) {
    VOXLOC_TRY(MarkExpired(database, map, limits, report));
    if (map.deleted) {
      VOXLOC_ASSIGN_OR_RETURN(
          const auto kept,
          database.Number("SELECT COUNT(*) FROM revisions WHERE map_id = ?1 AND kept = 1", map.id));
      if (kept > 0) continue;  // it may come back
    }
    VOXLOC_TRY(DeleteTiles(database, map, left));
    // A revision's row stays until its tiles are gone.
    if (left > 0) {
      VOXLOC_TRY(DeleteRevisionRows(database, map, limits, left));
    }
    if (left == 0) return absl::OkStatus();
    // A deleted map, or one whose only revisions were staged and withdrawn.
    VOXLOC_TRY(database.Run(
        "DELETE FROM maps WHERE id = ?1 AND (deleted = 1 OR active_revision = 0) AND NOT EXISTS "
        "(SELECT 1 FROM revisions WHERE map_id = ?1)",
        map.id));
  }
  return absl::OkStatus();
}

// Content that no revision refers to, but not the uploads that are under way.
absl::Status FreeUnreferenced(SqlDatabase& database, const CollectLimits& limits,
                              const std::set<int64_t>& uploads, CollectReport& report) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto contents,
      database.ReadAll(NumberOf,
                       "SELECT id FROM contents WHERE uses = 0 AND wanted_unix_ns <= ?1 "
                       "ORDER BY wanted_unix_ns LIMIT ?2",
                       limits.unreferenced_unix_ns, kRowsPerStep + uploads.size()));
  uint64_t pieces_left = kPiecesPerStep;
  for (const int64_t content : contents) {
    if (uploads.count(content) > 0) continue;
    if (pieces_left == 0) {
      report.more = true;
      return absl::OkStatus();
    }
    VOXLOC_ASSIGN_OR_RETURN(const auto freed, FreeContent(database, content, pieces_left));
    pieces_left -= std::min(pieces_left, std::max<uint64_t>(freed.pieces, 1));
    report.bytes += freed.bytes;
    if (freed.all) {
      ++report.contents;
    } else {
      report.more = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CollectReport> MapStore::Collect() {
  CollectReport report;
  CollectLimits limits;
  const auto forget = [&](SqlDatabase& database, const StoreTime& time) -> absl::Status {
    const int64_t now = time.store_unix_ns;
    limits.retained_revisions = options_.retained_revisions;
    limits.withdrawn_unix_ns = Before(now, options_.withdrawn_for_s);
    limits.requests_unix_ns = Before(now, options_.requests_for_s);
    limits.unreferenced_unix_ns = Before(now, options_.unreferenced_for_s);
    uint64_t left = kRowsPerStep;
    VOXLOC_TRY(CollectRevisions(database, limits, report, left));
    VOXLOC_TRY(DeleteOldest(database, "SELECT COUNT(*) FROM last_poses", options_.max_last_poses,
                            "DELETE FROM last_poses WHERE vehicle IN (SELECT vehicle "
                            "FROM last_poses ORDER BY saved_unix_ns, vehicle LIMIT ?1)",
                            left));
    VOXLOC_TRY(DeleteOldest(database, "SELECT COUNT(*) FROM tile_fits", options_.max_tile_fits,
                            "DELETE FROM tile_fits WHERE (map, tile_id, digest) IN "
                            "(SELECT map, tile_id, digest FROM tile_fits "
                            "ORDER BY last_used_unix_ns, map, tile_id, digest LIMIT ?1)",
                            left));
    if (left == 0) report.more = true;
    return absl::OkStatus();
  };
  VOXLOC_TRY(backend_->Write(SqlBackend::Sync::kNormal, forget));
  const auto free = [&](SqlDatabase& database, const StoreTime& /*now*/) {
    std::set<int64_t> uploads;
    {
      const absl::MutexLock lock(&uploads_mutex_);
      uploads = uploads_;
    }
    return FreeUnreferenced(database, limits, uploads, report);
  };
  VOXLOC_TRY(backend_->Write(SqlBackend::Sync::kNormal, free));
  VOXLOC_TRY(backend_->Shrink(report));
  return report;
}

}  // namespace voxloc::server
