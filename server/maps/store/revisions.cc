// SPDX-License-Identifier: Apache-2.0
//
// Maps and their revisions. One file, because every operation is a transaction over the same row
// functions, which no other file may call.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/status/try.h"
#include "server/maps/store/contents.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_backend.h"

namespace voxloc::server {
namespace {

struct MapRow {
  int64_t id = 0;
  uint64_t active_revision = 0;
};

absl::Status NoSuchMap(absl::string_view map) {
  return absl::NotFoundError(absl::StrCat("no map \"", map, "\""));
}

absl::Status NoSuchRevision(absl::string_view map, uint64_t revision) {
  return absl::NotFoundError(absl::StrCat("map \"", map, "\" has no revision ", revision));
}

// NotFound.
absl::StatusOr<MapRow> FindMap(SqlDatabase& database, absl::string_view map) {
  const auto query =
      database.Query("SELECT id, active_revision FROM maps WHERE name = ?1 AND deleted = 0", map);
  if (query->Next()) return MapRow{query->Int(0), query->UInt(1)};
  if (!query->status().ok()) return query->status();
  return NoSuchMap(map);
}

absl::Status WriteCanaries(SqlDatabase& database, int64_t map_id, uint64_t revision,
                           const std::vector<std::string>& vehicles) {
  VOXLOC_TRY(
      database.Run("DELETE FROM canaries WHERE map_id = ?1 AND revision = ?2", map_id, revision));
  int64_t place = 0;
  for (const std::string& vehicle : vehicles) {
    VOXLOC_TRY(database.Run(
        "INSERT INTO canaries (map_id, revision, place, vehicle) VALUES (?1, ?2, ?3, ?4)", map_id,
        revision, place++, vehicle));
  }
  return absl::OkStatus();
}

// Those of a row of revisions r, as RevisionOf reads them.
constexpr char kRevisionColumns[] =
    "r.revision, r.parent, r.state, r.committed_unix_ns, r.activated_unix_ns, r.comment, "
    "r.request_id, r.tiles, r.points, r.added, r.replaced, r.removed, r.kept";
constexpr int kRevisionColumnCount = 13;

// From `column` on; without the canaries.
StoredRevision RevisionOf(const SqlRows& row, int column = 0) {
  StoredRevision revision;
  revision.revision = row.UInt(column);
  revision.parent = row.UInt(column + 1);
  const auto state = static_cast<RevisionState>(row.Int(column + 2));
  const bool known = state == RevisionState::kStaged || state == RevisionState::kWithdrawn;
  revision.state = known ? state : RevisionState::kActive;
  revision.committed_unix_ns = row.Int(column + 3);
  revision.activated_unix_ns = row.Int(column + 4);
  revision.comment = row.Text(column + 5);
  revision.request_id = row.Text(column + 6);
  revision.tiles = row.UInt(column + 7);
  revision.points = row.UInt(column + 8);
  revision.added = static_cast<uint32_t>(row.Int(column + 9));
  revision.replaced = static_cast<uint32_t>(row.Int(column + 10));
  revision.removed = static_cast<uint32_t>(row.Int(column + 11));
  return revision;
}

struct RevisionRow {
  StoredRevision revision;
  bool kept = false;
};

// Of a map, that with `key` in this column; nullopt: there is none.
template <typename Key>
absl::StatusOr<std::optional<RevisionRow>> FindRevision(SqlDatabase& database, int64_t map_id,
                                                        absl::string_view column, const Key& key) {
  VOXLOC_ASSIGN_OR_RETURN(
      auto found, database.ReadFirst(
                      [](const SqlRows& row) {
                        return RevisionRow{RevisionOf(row), row.Int(kRevisionColumnCount - 1) != 0};
                      },
                      absl::StrCat("SELECT ", kRevisionColumns,
                                   " FROM revisions r WHERE map_id = ?1 AND ", column, " = ?2")
                          .c_str(),
                      map_id, key));
  if (found.has_value() && found->revision.state == RevisionState::kStaged) {
    VOXLOC_ASSIGN_OR_RETURN(
        found->revision.canary_vehicles,
        database.ReadAll([](const SqlRows& row) { return row.Text(0); },
                         "SELECT vehicle FROM canaries WHERE map_id = ?1 AND revision = ?2 "
                         "ORDER BY place",
                         map_id, found->revision.revision));
  }
  return found;
}

// A revision that can still be changed or read. NotFound.
absl::StatusOr<StoredRevision> GetRevision(SqlDatabase& database, const MapRow& map,
                                           absl::string_view name, uint64_t number) {
  VOXLOC_ASSIGN_OR_RETURN(auto row, FindRevision(database, map.id, "revision", number));
  if (!row.has_value()) return NoSuchRevision(name, number);
  if (!row->kept) {
    return absl::NotFoundError(
        absl::StrCat("revision ", number, " of map \"", name, "\" is no longer kept"));
  }
  return std::move(row->revision);
}

absl::StatusOr<uint64_t> AllocateRevision(SqlDatabase& database, absl::string_view map) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto number,
      database.Number(
          "INSERT INTO map_numbers (name, next_revision) VALUES (?1, 2) "
          "ON CONFLICT (name) DO UPDATE SET next_revision = map_numbers.next_revision + 1 "
          "RETURNING next_revision - 1",
          map));
  return static_cast<uint64_t>(number);
}

// A row of tiles or staged_tiles.
struct TileRow {
  std::string id;
  int64_t content = 0;  // 0: the tile goes
  TileRecord tile;
  uint32_t checksum = 0;
};

// Checksum of a row of tiles without to_revision. SQLite's pages have no checksums: this is what
// finds a flipped bit.
uint32_t ChecksumOf(absl::string_view id, uint64_t from_revision, const TileRecord& tile) {
  uint32_t crc = Crc32c(id);
  const auto add = [&crc](const auto& value) {
    crc = ExtendCrc32c(crc, {reinterpret_cast<const char*>(&value), sizeof(value)});
  };
  add(from_revision);
  add(tile.digest);
  add(tile.points);
  add(tile.crc32c);
  for (const Eigen::Vector3d& corner : {tile.bounds.min, tile.bounds.max}) {
    // SQLite has one zero.
    for (int i = 0; i < 3; ++i) add(corner[i] + 0.0);
  }
  return crc;
}

uint64_t FirstNumber(const SqlRows& row) { return row.UInt(0); }

// The tile of the active revision ends with this one. Returns its points; nullopt: there was none.
absl::StatusOr<std::optional<uint64_t>> CloseTileRow(SqlDatabase& database, int64_t map_id,
                                                     uint64_t revision, absl::string_view tile) {
  return database.ReadFirst(FirstNumber,
                            "UPDATE tiles SET to_revision = ?3 WHERE map_id = ?1 AND tile_id = ?2 "
                            "AND to_revision IS NULL RETURNING points",
                            map_id, tile, revision);
}

absl::StatusOr<std::optional<uint64_t>> PointsOfTile(SqlDatabase& database, int64_t map_id,
                                                     absl::string_view tile) {
  return database.ReadFirst(FirstNumber,
                            "SELECT points FROM tiles WHERE map_id = ?1 AND tile_id = ?2 "
                            "AND to_revision IS NULL",
                            map_id, tile);
}

// The tables of TileRow, with the columns of their keys.
constexpr char kTiles[] = "tiles (map_id, from_revision, tile_id";
constexpr char kStagedTiles[] = "staged_tiles (map_id, revision, tile_id";

absl::Status AddTile(SqlDatabase& database, absl::string_view table, int64_t map_id,
                     uint64_t revision, const TileRow& row) {
  const Bounds& bounds = row.tile.bounds;
  const std::string sql = absl::StrCat(
      "INSERT INTO ", table,
      ", content_id, points, crc32c, min_x, min_y, min_z, max_x, max_y, max_z, row_crc32c) "
      "VALUES (?1, ?2, ?3, NULLIF(CAST(?4 AS BIGINT), 0), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
  return database.Run(sql.c_str(), map_id, revision, row.id, row.content, row.tile.points,
                      row.tile.crc32c, bounds.min.x(), bounds.min.y(), bounds.min.z(),
                      bounds.max.x(), bounds.max.y(), bounds.max.z(), row.checksum);
}

// The columns points, crc32c, min_x ... max_z from `column` on.
TileRecord TileOf(const SqlRows& row, int column) {
  TileRecord tile;
  tile.points = row.UInt(column);
  tile.crc32c = static_cast<uint32_t>(row.Int(column + 1));
  tile.bounds.min = {row.Real(column + 2), row.Real(column + 3), row.Real(column + 4)};
  tile.bounds.max = {row.Real(column + 5), row.Real(column + 6), row.Real(column + 7)};
  tile.bounds.finite_points = tile.points;
  return tile;
}

// The content of a tile that a commit brings in, with one more use. NotFound.
absl::StatusOr<int64_t> ReferenceContent(SqlDatabase& database, const std::string& tile,
                                         const Sha256Digest& digest) {
  VOXLOC_ASSIGN_OR_RETURN(const auto content, FindContent(database, digest));
  if (!content.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("the content ", ToHex(digest), " of tile \"", tile, "\" is not there"));
  }
  // The uploader waited for this use, unless HasContent was called for it since.
  VOXLOC_TRY(database.Run(
      "UPDATE contents SET uses = uses + 1, wanted_unix_ns = CASE WHEN wanted_unix_ns = "
      "created_unix_ns THEN ?2 ELSE wanted_unix_ns END WHERE id = ?1",
      content->id, kExpiredUnixNs));
  return content->id;
}

absl::StatusOr<int64_t> CountStaged(SqlDatabase& database, int64_t map_id) {
  return database.Number(
      "SELECT COUNT(*) FROM revisions WHERE map_id = ?1 AND state = 1 AND kept = 1", map_id);
}

// Whether a revision of it is active or staged. A map of which all that was committed has been
// withdrawn has a row, which remembers that, and is not there.
absl::StatusOr<bool> MapExists(SqlDatabase& database, const MapRow& map) {
  if (map.active_revision != 0) return true;
  VOXLOC_ASSIGN_OR_RETURN(const auto staged, CountStaged(database, map.id));
  return staged > 0;
}

absl::Status MarkMapDeleted(SqlDatabase& database, const MapRow& map, absl::string_view name) {
  VOXLOC_TRY(database.Run("UPDATE maps SET deleted = 1 WHERE id = ?1", map.id));
  VOXLOC_TRY(database.Run("DELETE FROM last_poses WHERE map = ?1", name));
  return database.Run("DELETE FROM tile_fits WHERE map = ?1", name);
}

// AlreadyExists: there is a map of this name. Deletes a row of only withdrawn revisions.
absl::Status CheckMapAbsent(SqlDatabase& database, absl::string_view name) {
  const auto map = FindMap(database, name);
  if (absl::IsNotFound(map.status())) return absl::OkStatus();
  if (!map.ok()) return map.status();
  VOXLOC_ASSIGN_OR_RETURN(const auto there, MapExists(database, *map));
  if (there) return absl::AlreadyExistsError(absl::StrCat("there is a map \"", name, "\""));
  return MarkMapDeleted(database, *map, name);
}

// AlreadyExists: the map has another frame.
absl::Status SetFrame(SqlDatabase& database, int64_t map_id, const RevisionCommit& commit) {
  if (commit.frame.empty()) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(
      const auto unlike,
      database.Number(
          "SELECT COUNT(*) FROM maps WHERE id = ?1 AND frame <> ?2 AND length(frame) > 0", map_id,
          SqlBlob{commit.frame}));
  if (unlike > 0) {
    return absl::AlreadyExistsError(absl::StrCat("map \"", commit.map, "\" has another frame"));
  }
  return database.Run("UPDATE maps SET frame = ?2 WHERE id = ?1 AND length(frame) = 0", map_id,
                      SqlBlob{commit.frame});
}

absl::Status SetActive(SqlDatabase& database, int64_t map_id, uint64_t revision) {
  return database.Run("UPDATE maps SET active_revision = ?2 WHERE id = ?1", map_id, revision);
}

absl::Status CheckStagedLimit(SqlDatabase& database, const MapRow& map, absl::string_view name,
                              uint32_t max_staged) {
  VOXLOC_ASSIGN_OR_RETURN(const auto staged, CountStaged(database, map.id));
  if (staged < max_staged) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("map \"", name, "\" has ", staged,
                                                   " staged revisions, its limit; activate or "
                                                   "withdraw one first"));
}

// Maps that are there, with their revisions that can be read: of those that were activated the ?1
// newest ones, and all that are staged. A row a revision, and of a staged one a row a vehicle.
std::string SelectMaps(absl::string_view where) {
  return absl::StrCat(
      "SELECT m.name, m.build, m.frame, m.active_revision, c.vehicle, ", kRevisionColumns,
      " FROM maps m LEFT JOIN revisions r ON r.map_id = m.id AND r.kept = 1 AND (r.state = 1 OR "
      "(r.state = 0 AND r.revision >= (SELECT MIN(newest.revision) FROM (SELECT o.revision "
      "FROM revisions o WHERE o.map_id = m.id AND o.state = 0 AND o.kept = 1 "
      "ORDER BY o.revision DESC LIMIT ?1) AS newest))) "
      "LEFT JOIN canaries c ON c.map_id = r.map_id AND c.revision = r.revision AND r.state = 1 "
      "WHERE m.deleted = 0 AND (m.active_revision <> 0 OR r.revision IS NOT NULL) ",
      where, " ORDER BY m.name, r.revision, c.place");
}

absl::StatusOr<std::vector<StoredMap>> ReadMaps(SqlRows& rows) {
  constexpr int kVehicle = 4;
  constexpr int kRevision = 5;
  std::vector<StoredMap> maps;
  while (rows.Next()) {
    if (maps.empty() || maps.back().name != rows.Bytes(0)) {
      maps.emplace_back();
      maps.back().name = rows.Text(0);
      maps.back().build = rows.Text(1);
      maps.back().frame = rows.Text(2);
      maps.back().active_revision = rows.UInt(3);
    }
    if (rows.IsNull(kRevision)) continue;
    std::vector<StoredRevision>& revisions = maps.back().revisions;
    if (revisions.empty() || revisions.back().revision != rows.UInt(kRevision)) {
      revisions.push_back(RevisionOf(rows, kRevision));
    }
    if (!rows.IsNull(kVehicle)) revisions.back().canary_vehicles.push_back(rows.Text(kVehicle));
  }
  if (!rows.status().ok()) return rows.status();
  return maps;
}

absl::StatusOr<CommittedRevision> CommitRevision(SqlDatabase& database,
                                                 const RevisionCommit& commit, uint32_t max_staged,
                                                 const StoreTime& now) {
  auto map = FindMap(database, commit.map);
  if (!map.ok() && !absl::IsNotFound(map.status())) return map.status();
  if (map.ok() && !commit.request_id.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(auto repeated,
                            FindRevision(database, map->id, "request_id", commit.request_id));
    if (repeated.has_value()) return CommittedRevision{std::move(repeated->revision), true};
  }
  if (commit.base_revision == 0) {
    VOXLOC_TRY(CheckMapAbsent(database, commit.map));
    VOXLOC_ASSIGN_OR_RETURN(
        const auto id,
        database.Number("INSERT INTO maps (name, build, frame, active_revision, deleted) "
                        "VALUES (?1, ?2, ?3, 0, 0) RETURNING id",
                        commit.map, SqlBlob{commit.build}, SqlBlob{commit.frame}));
    map = MapRow{id, 0};
  }
  if (!map.ok()) return map.status();
  if (map->active_revision != commit.base_revision) {
    return absl::AbortedError(absl::StrCat("map \"", commit.map, "\" is at revision ",
                                           map->active_revision, ", not at ", commit.base_revision,
                                           " on which the update is based"));
  }
  VOXLOC_TRY(SetFrame(database, map->id, commit));
  if (commit.stage) {
    VOXLOC_TRY(CheckStagedLimit(database, *map, commit.map, max_staged));
  }
  VOXLOC_ASSIGN_OR_RETURN(const auto number, AllocateRevision(database, commit.map));

  CommittedRevision committed;
  StoredRevision& revision = committed.revision;
  revision.revision = number;
  revision.parent = commit.base_revision;
  revision.state = commit.stage ? RevisionState::kStaged : RevisionState::kActive;
  revision.committed_unix_ns = now.system_unix_ns;
  revision.activated_unix_ns = commit.stage ? 0 : now.system_unix_ns;
  revision.comment = commit.comment;
  revision.request_id = commit.request_id;

  if (commit.base_revision != 0) {
    VOXLOC_ASSIGN_OR_RETURN(const auto parent,
                            FindRevision(database, map->id, "revision", commit.base_revision));
    if (!parent.has_value()) return NoSuchRevision(commit.map, commit.base_revision);
    revision.tiles = parent->revision.tiles;
    revision.points = parent->revision.points;
  }
  for (const auto& [id, tile] : commit.change) {
    TileRow row;
    row.id = id;
    if (tile.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(row.content, ReferenceContent(database, id, tile->digest));
      row.tile = *tile;
      row.checksum = ChecksumOf(id, revision.revision, *tile);
    }
    VOXLOC_ASSIGN_OR_RETURN(const auto before,
                            commit.stage ? PointsOfTile(database, map->id, id)
                                         : CloseTileRow(database, map->id, revision.revision, id));
    if (tile.has_value()) {
      ++(before.has_value() ? revision.replaced : revision.added);
    } else if (before.has_value()) {
      ++revision.removed;
    }
    revision.points += row.tile.points;
    revision.points -= before.value_or(0);
    if (!commit.stage && !tile.has_value()) continue;
    VOXLOC_TRY(
        AddTile(database, commit.stage ? kStagedTiles : kTiles, map->id, revision.revision, row));
  }
  revision.tiles += revision.added;
  revision.tiles -= revision.removed;

  VOXLOC_TRY(database.Run(
      "INSERT INTO revisions (map_id, revision, parent, state, kept, committed_unix_ns, "
      "activated_unix_ns, changed_unix_ns, comment, request_id, tiles, points, added, replaced, "
      "removed) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, NULLIF(?9, ''), ?10, ?11, ?12, ?13, "
      "?14)",
      map->id, revision.revision, revision.parent, revision.state, revision.committed_unix_ns,
      revision.activated_unix_ns, now.store_unix_ns, revision.comment, revision.request_id,
      revision.tiles, revision.points, revision.added, revision.replaced, revision.removed));
  if (commit.stage) revision.canary_vehicles = commit.canary_vehicles;
  VOXLOC_TRY(commit.stage
                 ? WriteCanaries(database, map->id, revision.revision, revision.canary_vehicles)
                 : SetActive(database, map->id, revision.revision));
  return committed;
}

absl::StatusOr<StoredRevision> ActivateRevision(SqlDatabase& database, absl::string_view map,
                                                uint64_t revision, const StoreTime& now) {
  VOXLOC_ASSIGN_OR_RETURN(const auto row, FindMap(database, map));
  auto staged = GetRevision(database, row, map, revision);
  if (!staged.ok() || row.active_revision == revision) return staged;
  if (staged->state == RevisionState::kWithdrawn) {
    return absl::FailedPreconditionError(
        absl::StrCat("revision ", revision, " of map \"", map, "\" was withdrawn"));
  }
  if (staged->state == RevisionState::kActive || staged->parent != row.active_revision) {
    return absl::AbortedError(absl::StrCat("map \"", map, "\" is at revision ", row.active_revision,
                                           ", and revision ", revision, " follows revision ",
                                           staged->parent,
                                           "; a rollback to it makes a new revision of its tiles"));
  }

  VOXLOC_ASSIGN_OR_RETURN(
      const auto changes,
      database.ReadAll(
          [](const SqlRows& tile) {
            return TileRow{tile.Text(0), tile.Int(1), TileOf(tile, 2),
                           static_cast<uint32_t>(tile.Int(10))};
          },
          "SELECT tile_id, content_id, points, crc32c, min_x, min_y, min_z, max_x, "
          "max_y, max_z, row_crc32c FROM staged_tiles WHERE map_id = ?1 AND revision = ?2",
          row.id, revision));
  for (const TileRow& change : changes) {
    VOXLOC_TRY(CloseTileRow(database, row.id, revision, change.id).status());
    if (change.content == 0) continue;
    VOXLOC_TRY(AddTile(database, kTiles, row.id, revision, change));
  }
  VOXLOC_TRY(database.Run("DELETE FROM staged_tiles WHERE map_id = ?1 AND revision = ?2", row.id,
                          revision));
  VOXLOC_TRY(WriteCanaries(database, row.id, revision, {}));
  VOXLOC_TRY(
      database.Run("UPDATE revisions SET state = 0, activated_unix_ns = ?3, changed_unix_ns = ?4 "
                   "WHERE map_id = ?1 AND revision = ?2",
                   row.id, revision, now.system_unix_ns, now.store_unix_ns));
  VOXLOC_TRY(SetActive(database, row.id, revision));
  staged->state = RevisionState::kActive;
  staged->activated_unix_ns = now.system_unix_ns;
  staged->canary_vehicles.clear();
  return staged;
}

absl::StatusOr<Manifest> ReadManifest(SqlDatabase& database, absl::string_view map,
                                      uint64_t revision, uint32_t retained) {
  VOXLOC_ASSIGN_OR_RETURN(const auto row, FindMap(database, map));
  VOXLOC_ASSIGN_OR_RETURN(const auto found, GetRevision(database, row, map, revision));
  VOXLOC_ASSIGN_OR_RETURN(const auto oldest, OldestRetained(database, row.id, retained));
  const bool staged = found.state == RevisionState::kStaged;
  if (!staged && (found.state == RevisionState::kWithdrawn || revision < oldest)) {
    return absl::NotFoundError(absl::StrCat(
        "revision ", revision, " of map \"", map, "\" ",
        found.state == RevisionState::kWithdrawn ? "was withdrawn" : "is no longer kept"));
  }

  Manifest manifest;
  // Adds the tiles of a table. A tile that is wrong, or missing, must not go unnoticed.
  const auto add = [&](absl::string_view from_column, absl::string_view table,
                       absl::string_view where, uint64_t of_revision) -> absl::Status {
    const auto query = database.Query(
        absl::StrCat("SELECT t.tile_id, c.digest, t.points, t.crc32c, t.min_x, t.min_y, "
                     "t.min_z, t.max_x, t.max_y, t.max_z, t.row_crc32c, t.content_id, ",
                     from_column, " FROM ", table,
                     " t LEFT JOIN contents c ON c.id = t.content_id "
                     "WHERE t.map_id = ?1 AND ",
                     where, " ORDER BY t.tile_id")
            .c_str(),
        row.id, of_revision);
    while (query->Next()) {
      if (staged && query->IsNull(11)) {  // the staged revision removes the tile
        manifest.erase(query->Text(0));
        continue;
      }
      const auto digest = Sha256FromBytes(query->Bytes(1));
      TileRecord tile = TileOf(*query, 2);
      tile.digest = digest.ok() ? *digest : Sha256Digest();
      tile.revision = query->UInt(12);
      if (!digest.ok() || static_cast<uint32_t>(query->Int(10)) !=
                              ChecksumOf(query->Bytes(0), tile.revision, tile)) {
        return absl::DataLossError(absl::StrCat(database.name(), ": the row of tile \"",
                                                query->Bytes(0), "\" of map \"", map,
                                                "\" is damaged"));
      }
      manifest.insert_or_assign(manifest.end(), query->Text(0), tile);
    }
    return query->status();
  };
  VOXLOC_TRY(add("t.from_revision", "tiles",
                 "t.from_revision <= ?2 AND (t.to_revision IS NULL OR t.to_revision > ?2)",
                 staged ? found.parent : revision));
  if (staged) {
    VOXLOC_TRY(add("t.revision", "staged_tiles", "t.revision = ?2", revision));
  }
  if (manifest.size() != found.tiles) {
    return absl::DataLossError(absl::StrCat(database.name(), ": revision ", revision, " of map \"",
                                            map, "\" has ", manifest.size(), " of its ",
                                            found.tiles, " tiles"));
  }
  return manifest;
}

}  // namespace

absl::StatusOr<CommittedRevision> MapStore::Commit(const RevisionCommit& commit) {
  return backend_->Change(commit.map, [&](SqlDatabase& database, const StoreTime& now) {
    return CommitRevision(database, commit, options_.max_staged_revisions, now);
  });
}

absl::StatusOr<std::optional<StoredRevision>> MapStore::FindRequest(absl::string_view map,
                                                                    absl::string_view request_id) {
  const auto find = [&](SqlDatabase& database) -> absl::StatusOr<std::optional<StoredRevision>> {
    const auto row = FindMap(database, map);
    if (absl::IsNotFound(row.status()) || request_id.empty()) return std::nullopt;
    if (!row.ok()) return row.status();
    VOXLOC_ASSIGN_OR_RETURN(auto found, FindRevision(database, row->id, "request_id", request_id));
    if (!found.has_value()) return std::nullopt;
    return std::move(found->revision);
  };
  return backend_->Query(find);
}

absl::StatusOr<StoredRevision> MapStore::Activate(absl::string_view map, uint64_t revision) {
  return backend_->Change(map, [&](SqlDatabase& database, const StoreTime& now) {
    return ActivateRevision(database, map, revision, now);
  });
}

absl::StatusOr<StoredRevision> MapStore::Withdraw(absl::string_view map, uint64_t revision) {
  const auto withdraw = [&](SqlDatabase& database,
                            const StoreTime& now) -> absl::StatusOr<StoredRevision> {
    VOXLOC_ASSIGN_OR_RETURN(const auto row, FindMap(database, map));
    auto staged = GetRevision(database, row, map, revision);
    if (!staged.ok() || staged->state == RevisionState::kWithdrawn) return staged;
    if (staged->state == RevisionState::kActive) {
      return absl::FailedPreconditionError(
          absl::StrCat("revision ", revision, " of map \"", map, "\" was activated"));
    }
    VOXLOC_TRY(database.Run(
        "UPDATE revisions SET state = 2, changed_unix_ns = ?3 WHERE map_id = ?1 AND revision = ?2",
        row.id, revision, now.store_unix_ns));
    VOXLOC_TRY(WriteCanaries(database, row.id, revision, {}));
    staged->state = RevisionState::kWithdrawn;
    staged->canary_vehicles.clear();
    return staged;
  };
  return backend_->Change(map, withdraw);
}

absl::StatusOr<StoredRevision> MapStore::SetCanary(absl::string_view map, uint64_t revision,
                                                   std::vector<std::string> vehicles) {
  const auto set = [&](SqlDatabase& database,
                       const StoreTime& /*now*/) -> absl::StatusOr<StoredRevision> {
    VOXLOC_ASSIGN_OR_RETURN(const auto row, FindMap(database, map));
    auto staged = GetRevision(database, row, map, revision);
    if (!staged.ok()) return staged;
    if (staged->state != RevisionState::kStaged) {
      return absl::FailedPreconditionError(
          absl::StrCat("revision ", revision, " of map \"", map, "\" is not staged"));
    }
    VOXLOC_TRY(WriteCanaries(database, row.id, revision, vehicles));
    staged->canary_vehicles = vehicles;
    return staged;
  };
  return backend_->Change(map, set);
}

absl::StatusOr<uint64_t> MapStore::DeleteMap(absl::string_view map, uint64_t revision) {
  const auto remove = [&](SqlDatabase& database, const StoreTime& now) -> absl::StatusOr<uint64_t> {
    VOXLOC_ASSIGN_OR_RETURN(const auto row, FindMap(database, map));
    VOXLOC_ASSIGN_OR_RETURN(const auto there, MapExists(database, row));
    if (!there) return NoSuchMap(map);
    if (revision != 0 && revision != row.active_revision) {
      return absl::AbortedError(absl::StrCat("map \"", map, "\" is at revision ",
                                             row.active_revision, ", not at ", revision));
    }
    VOXLOC_TRY(MarkMapDeleted(database, row, map));
    VOXLOC_TRY(database.Run("UPDATE revisions SET changed_unix_ns = ?2 WHERE map_id = ?1", row.id,
                            now.store_unix_ns));
    return row.active_revision;
  };
  return backend_->Change(map, remove);
}

absl::StatusOr<uint64_t> MapStore::UndeleteMap(absl::string_view map) {
  const auto undelete = [&](SqlDatabase& database,
                            const StoreTime& /*now*/) -> absl::StatusOr<uint64_t> {
    VOXLOC_TRY(CheckMapAbsent(database, map));
    VOXLOC_ASSIGN_OR_RETURN(
        const auto deleted,
        database.ReadFirst(
            [](const SqlRows& row) {
              return MapRow{row.Int(0), row.UInt(1)};
            },
            "SELECT m.id, m.active_revision FROM maps m JOIN revisions r ON r.map_id = m.id "
            "AND r.revision = m.active_revision AND r.kept = 1 WHERE m.id = "
            "(SELECT MAX(d.id) FROM maps d WHERE d.name = ?1 AND d.deleted = 1 AND EXISTS "
            "(SELECT 1 FROM revisions k WHERE k.map_id = d.id AND k.kept = 1 AND k.state IN "
            "(0, 1)))",  // not one of which nothing but withdrawn revisions was left
            map));
    if (!deleted.has_value()) {
      return absl::NotFoundError(absl::StrCat("no deleted map \"", map, "\" that can be restored"));
    }
    VOXLOC_TRY(database.Run("UPDATE maps SET deleted = 0 WHERE id = ?1", deleted->id));
    return deleted->active_revision;
  };
  return backend_->Change(map, undelete);
}

absl::StatusOr<std::vector<StoredMap>> MapStore::ListMaps() {
  return backend_->Query([this](SqlDatabase& database) {
    return ReadMaps(
        *database.Query(SelectMaps("").c_str(), std::max(options_.retained_revisions, 1U)));
  });
}

absl::StatusOr<StoredMap> MapStore::GetMap(absl::string_view map) {
  return backend_->Query([&](SqlDatabase& database) -> absl::StatusOr<StoredMap> {
    VOXLOC_ASSIGN_OR_RETURN(
        auto maps, ReadMaps(*database.Query(SelectMaps("AND m.name = ?2").c_str(),
                                            std::max(options_.retained_revisions, 1U), map)));
    if (maps.empty()) return NoSuchMap(map);
    return std::move(maps.front());
  });
}

absl::StatusOr<Manifest> MapStore::GetManifest(absl::string_view map, uint64_t revision) {
  return backend_->Query([&](SqlDatabase& database) {
    return ReadManifest(database, map, revision, options_.retained_revisions);
  });
}

}  // namespace voxloc::server
