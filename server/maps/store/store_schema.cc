// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/store_schema.h"

#include <array>

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

absl::Span<const char* const> StoreSchemaSteps() { return kSteps; }

int64_t StoreSchemaVersion() { return static_cast<int64_t>(kSteps.size()); }

}  // namespace voxloc::server
