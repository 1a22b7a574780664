// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/store_schema.h"

#include <array>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/status/try.h"
#include "server/maps/store/postgres_database.h"
#include "server/maps/store/sqlite_database.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

// Released steps are never changed; append a new step instead.
constexpr std::array<const char*, 2> kSteps = {
    R"sql(
-- The number of a map's next revision. Outlives the map, so that no number is used twice.
CREATE TABLE map_numbers (
  name TEXT NOT NULL PRIMARY KEY,
  next_revision BIGINT NOT NULL);

-- A map that was deleted keeps its row until its other rows are gone.
CREATE TABLE maps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  build BLOB NOT NULL,
  frame BLOB NOT NULL,
  active_revision BIGINT NOT NULL,
  deleted SMALLINT NOT NULL);
CREATE UNIQUE INDEX maps_by_name ON maps (name) WHERE deleted = 0;

-- state: 0 active, now or once; 1 staged; 2 withdrawn. kept: 0: its tiles are forgotten, and the
-- row remembers what its request led to. changed_unix_ns: of the store's own clock, which never
-- goes back; the other times are what the system's clock said.
CREATE TABLE revisions (
  map_id BIGINT NOT NULL REFERENCES maps (id),
  revision BIGINT NOT NULL,
  parent BIGINT NOT NULL,
  state SMALLINT NOT NULL,
  kept SMALLINT NOT NULL,
  committed_unix_ns BIGINT NOT NULL,
  activated_unix_ns BIGINT NOT NULL,
  changed_unix_ns BIGINT NOT NULL,
  comment TEXT NOT NULL,
  request_id TEXT,
  tiles BIGINT NOT NULL,
  points BIGINT NOT NULL,
  added BIGINT NOT NULL,
  replaced BIGINT NOT NULL,
  removed BIGINT NOT NULL,
  PRIMARY KEY (map_id, revision));
CREATE UNIQUE INDEX revisions_by_request ON revisions (map_id, request_id);
CREATE INDEX revisions_kept ON revisions (map_id, state, revision) WHERE kept = 1;

-- The vehicles that try a staged revision, in the order in which they were named.
CREATE TABLE canaries (
  map_id BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  place BIGINT NOT NULL,
  vehicle TEXT NOT NULL,
  PRIMARY KEY (map_id, revision, place),
  FOREIGN KEY (map_id, revision) REFERENCES revisions (map_id, revision));

-- Content by digest. An upload that is not finished has no digest. uses: rows of tiles and
-- staged_tiles that refer to it. wanted_unix_ns: when it was last uploaded or asked for, by the
-- store's own clock; the smallest number: nobody waits for it.
CREATE TABLE contents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB,
  bytes BIGINT NOT NULL,
  stored_bytes BIGINT NOT NULL,
  pieces BIGINT NOT NULL,
  uses BIGINT NOT NULL,
  created_unix_ns BIGINT NOT NULL,
  wanted_unix_ns BIGINT NOT NULL,
  quarantined SMALLINT NOT NULL);
CREATE UNIQUE INDEX contents_by_digest ON contents (digest) WHERE quarantined = 0;
CREATE INDEX contents_quarantined ON contents (digest) WHERE quarantined = 1;
CREATE INDEX contents_unused ON contents (wanted_unix_ns, stored_bytes) WHERE uses = 0;

CREATE TABLE pieces (
  content_id BIGINT NOT NULL REFERENCES contents (id),
  piece BIGINT NOT NULL,
  raw_bytes BIGINT NOT NULL,
  crc32c BIGINT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (content_id, piece));

-- A tile from one revision of a map's history on, to before another one (NULL: until now).
-- row_crc32c: of what the row says, but for its end.
CREATE TABLE tiles (
  map_id BIGINT NOT NULL REFERENCES maps (id),
  tile_id TEXT NOT NULL,
  from_revision BIGINT NOT NULL,
  to_revision BIGINT,
  content_id BIGINT NOT NULL REFERENCES contents (id),
  points BIGINT NOT NULL,
  crc32c BIGINT NOT NULL,
  min_x DOUBLE PRECISION NOT NULL,
  min_y DOUBLE PRECISION NOT NULL,
  min_z DOUBLE PRECISION NOT NULL,
  max_x DOUBLE PRECISION NOT NULL,
  max_y DOUBLE PRECISION NOT NULL,
  max_z DOUBLE PRECISION NOT NULL,
  row_crc32c BIGINT NOT NULL,
  PRIMARY KEY (map_id, tile_id, from_revision));
CREATE INDEX tiles_ended ON tiles (map_id, to_revision) WHERE to_revision IS NOT NULL;
CREATE INDEX tiles_by_content ON tiles (content_id);

-- What a staged revision changes, until it is activated or forgotten; no content: the tile goes.
CREATE TABLE staged_tiles (
  map_id BIGINT NOT NULL REFERENCES maps (id),
  revision BIGINT NOT NULL,
  tile_id TEXT NOT NULL,
  content_id BIGINT REFERENCES contents (id),
  points BIGINT NOT NULL,
  crc32c BIGINT NOT NULL,
  min_x DOUBLE PRECISION NOT NULL,
  min_y DOUBLE PRECISION NOT NULL,
  min_z DOUBLE PRECISION NOT NULL,
  max_x DOUBLE PRECISION NOT NULL,
  max_y DOUBLE PRECISION NOT NULL,
  max_z DOUBLE PRECISION NOT NULL,
  row_crc32c BIGINT NOT NULL,
  PRIMARY KEY (map_id, revision, tile_id));
CREATE INDEX staged_tiles_by_content ON staged_tiles (content_id);

CREATE TABLE last_poses (
  vehicle TEXT NOT NULL PRIMARY KEY,
  map TEXT NOT NULL,
  revision BIGINT NOT NULL,
  stamp_unix_ns BIGINT NOT NULL,
  saved_unix_ns BIGINT NOT NULL,
  x DOUBLE PRECISION NOT NULL,
  y DOUBLE PRECISION NOT NULL,
  z DOUBLE PRECISION NOT NULL,
  qw DOUBLE PRECISION NOT NULL,
  qx DOUBLE PRECISION NOT NULL,
  qy DOUBLE PRECISION NOT NULL,
  qz DOUBLE PRECISION NOT NULL);
CREATE INDEX last_poses_by_map ON last_poses (map);
CREATE INDEX last_poses_by_age ON last_poses (saved_unix_ns);
)sql",
    R"sql(
-- How scans fitted a content of a tile: sums that are forgotten exponentially, as they were at the
-- last scan.
CREATE TABLE tile_fits (
  map TEXT NOT NULL,
  tile_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  last_used_unix_ns BIGINT NOT NULL,
  scans DOUBLE PRECISION NOT NULL,
  squared_distances_m2 DOUBLE PRECISION NOT NULL,
  points DOUBLE PRECISION NOT NULL,
  points_unexplained DOUBLE PRECISION NOT NULL,
  raised_points DOUBLE PRECISION NOT NULL,
  raised_points_unexplained DOUBLE PRECISION NOT NULL,
  solid DOUBLE PRECISION NOT NULL,
  solid_seen_through DOUBLE PRECISION NOT NULL,
  raised_solid DOUBLE PRECISION NOT NULL,
  raised_solid_seen_through DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (map, tile_id, digest));
CREATE INDEX tile_fits_by_age ON tile_fits (last_used_unix_ns);
)sql"};

}  // namespace

int64_t StoreSchemaVersion() { return static_cast<int64_t>(kSteps.size()); }

absl::Status CheckSchemaVersion(absl::string_view database, int64_t version) {
  if (version <= StoreSchemaVersion()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(database, " was made by a newer version of voxlocd: its schema has version ",
                   version, ", and this program knows versions up to ", StoreSchemaVersion()));
}

namespace {

// Of the file's header (https://www.sqlite.org/fileformat.html), bytes.
constexpr size_t kSqliteHeaderBytes = 100;
constexpr size_t kUserVersionOffset = 60;
constexpr size_t kApplicationIdOffset = 68;
constexpr absl::string_view kSqliteMagic("SQLite format 3\0", 16);

int64_t HeaderNumber(absl::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = (value << 8U) | static_cast<uint8_t>(byte);
  return value;
}

absl::Status CheckHeader(const std::string& path, int64_t application, int64_t version) {
  if (application == kStoreApplicationId) return CheckSchemaVersion(path, version);
  return absl::FailedPreconditionError(absl::StrCat(path, " is a database of another program"));
}

}  // namespace

absl::Status CheckSchema(SqliteDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(const auto tables, database.Number("SELECT COUNT(*) FROM sqlite_master"));
  if (tables == 0) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const auto application, database.Number("PRAGMA application_id"));
  VOXLOC_ASSIGN_OR_RETURN(const auto version, database.Number("PRAGMA user_version"));
  return CheckHeader(database.path(), application, version);
}

absl::Status CheckSqliteMapStore(const std::string& directory) {
  const std::string path = directory + "/maps.db";
  std::ifstream file(path, std::ios::binary);
  std::array<char, kSqliteHeaderBytes> header{};
  file.read(header.data(), header.size());
  if (file.gcount() == 0) return absl::OkStatus();
  const absl::string_view bytes(header.data(), static_cast<size_t>(file.gcount()));
  if (bytes.size() < kSqliteHeaderBytes || !absl::StartsWith(bytes, kSqliteMagic)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no database of SQLite"));
  }
  const int64_t version = HeaderNumber(bytes.substr(kUserVersionOffset, 4));
  const int64_t application = HeaderNumber(bytes.substr(kApplicationIdOffset, 4));
  // Both are 0 where the tables are still in the log beside it.
  if (version == 0 && application == 0) return absl::OkStatus();
  return CheckHeader(path, application, version);
}

absl::Status MigrateSchema(SqliteDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(const auto version, database.Number("PRAGMA user_version"));
  if (version >= StoreSchemaVersion()) return absl::OkStatus();
  return database.Transaction(SqliteDatabase::Begin::kImmediate, [&]() -> absl::Status {
    for (auto i = static_cast<size_t>(version); i < kSteps.size(); ++i) {
      VOXLOC_TRY(database.Execute(kSteps[i]));
    }
    const std::string marks = absl::StrCat("PRAGMA application_id = ", kStoreApplicationId,
                                           "; PRAGMA user_version = ", StoreSchemaVersion());
    return database.Execute(marks.c_str());
  });
}

// The store's schema in a database of PostgreSQL.

namespace {

// The advisory lock for creating or migrating the tables: "vxlm", as kStoreApplicationId.
constexpr int64_t kSchemaLock = 0x76786c6d;

// A schema step in PostgreSQL's dialect. Texts are ordered and compared by their bytes.
std::string InPostgres(absl::string_view step) {
  return absl::StrReplaceAll(step, {{"INTEGER PRIMARY KEY AUTOINCREMENT",
                                     "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
                                    {" BLOB", " BYTEA"},
                                    {" TEXT", " TEXT COLLATE \"C\""}});
}

// FailedPrecondition: there are tables of these names that the store has not made.
absl::Status CreateState(PostgresDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(
      const auto others,
      database.Number(
          "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() "
          "AND tablename IN ('maps', 'revisions', 'contents', 'pieces', 'tiles')"));
  if (others > 0) {
    return absl::FailedPreconditionError(
        "the database has tables of another program; give voxlocd a database or a schema of its "
        "own");
  }
  return database.Execute(
      "CREATE TABLE store_state (version BIGINT NOT NULL, generation BIGINT NOT NULL, "
      "changed_unix_ns BIGINT NOT NULL); INSERT INTO store_state VALUES (0, 0, 0)");
}

absl::Status PrepareInTransaction(PostgresDatabase& database) {
  VOXLOC_TRY(database.Run("SELECT pg_advisory_xact_lock(?1)", kSchemaLock));
  VOXLOC_ASSIGN_OR_RETURN(
      const auto state,
      database.Number(
          "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() "
          "AND tablename = 'store_state'"));
  if (state == 0) {
    VOXLOC_TRY(CreateState(database));
  }
  VOXLOC_ASSIGN_OR_RETURN(const auto version,
                          database.Number("SELECT version FROM store_state FOR UPDATE"));
  VOXLOC_TRY(CheckSchemaVersion("the database", version));
  if (version == StoreSchemaVersion()) return absl::OkStatus();
  for (auto i = static_cast<size_t>(version); i < kSteps.size(); ++i) {
    VOXLOC_TRY(database.Execute(InPostgres(kSteps[i]).c_str()));
  }
  // Pieces are compressed already.
  VOXLOC_TRY(database.Execute("ALTER TABLE pieces ALTER COLUMN data SET STORAGE EXTERNAL"));
  return database.Run("UPDATE store_state SET version = ?1", StoreSchemaVersion());
}

}  // namespace

absl::Status PreparePostgresSchema(PostgresDatabase& database) {
  VOXLOC_ASSIGN_OR_RETURN(const auto encoding,
                          database.ReadFirst([](const SqlRows& row) { return row.Text(0); },
                                             "SELECT current_setting('server_encoding')"));
  if (encoding.has_value() && *encoding != "UTF8") {
    return absl::FailedPreconditionError(
        absl::StrCat("the encoding of the database must be UTF8 (got ", *encoding, ")"));
  }
  absl::Status status = database.Execute("BEGIN ISOLATION LEVEL READ COMMITTED");
  if (status.ok()) status = PrepareInTransaction(database);
  if (status.ok()) return database.Commit();
  database.Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace voxloc::server
