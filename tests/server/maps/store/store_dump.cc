// SPDX-License-Identifier: Apache-2.0

#include "tests/server/maps/store/store_dump.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

std::string ContentOf(MapStore& store, const TileRecord& tile) {
  const auto bytes = ReadBytes(store, tile.digest);
  if (!bytes.ok()) return bytes.status().ToString();
  if (Sha256Of(*bytes) != tile.digest) return "another digest";
  return Crc32c(*bytes) == tile.crc32c ? "whole" : "another checksum";
}

int AddRow(void* text, int columns, char** values, char** /*names*/) {
  for (int i = 0; i < columns; ++i) {
    const char* const value = values[i] == nullptr ? "NULL" : values[i];
    if (std::string(value) != "ok") absl::StrAppend(static_cast<std::string*>(text), value, "\n");
  }
  return 0;
}

}  // namespace

std::string DumpOf(MapStore& store) {
  std::string dump;
  const auto maps = store.ListMaps();
  if (!maps.ok()) return maps.status().ToString();
  for (const StoredMap& map : *maps) {
    absl::StrAppend(&dump, map.name, " at ", map.active_revision, "\n");
    for (const StoredRevision& revision : map.revisions) {
      absl::StrAppend(&dump, "  ", revision.revision, " after ", revision.parent, ", state ",
                      static_cast<int>(revision.state), ", request ", revision.request_id, ", ",
                      revision.tiles, " tiles, ", revision.points, " points, canaries ",
                      revision.canary_vehicles.size(), "\n");
      const auto manifest = store.GetManifest(map.name, revision.revision);
      if (!manifest.ok()) {
        absl::StrAppend(&dump, manifest.status().ToString(), "\n");
        continue;
      }
      for (const auto& [id, tile] : *manifest) {
        absl::StrAppend(&dump, "    ", id, " of ", tile.revision, " ", ToHex(tile.digest), " ",
                        ContentOf(store, tile), "\n");
      }
    }
  }
  return dump;
}

std::string FaultsOf(const std::string& directory) {
  std::string faults;
  sqlite3* database = nullptr;
  if (sqlite3_open((directory + "/maps.db").c_str(), &database) != SQLITE_OK) return "cannot open";
  for (const char* const sql :
       {"PRAGMA integrity_check", "PRAGMA foreign_key_check",
        "SELECT 'uses of content ' || id FROM contents c WHERE uses <> "
        "(SELECT COUNT(*) FROM tiles WHERE content_id = c.id) + "
        "(SELECT COUNT(*) FROM staged_tiles WHERE content_id = c.id)",
        "SELECT 'pieces of content ' || id FROM contents c WHERE pieces <> "
        "(SELECT COUNT(*) FROM pieces WHERE content_id = c.id) AND digest IS NOT NULL"}) {
    char* message = nullptr;
    if (sqlite3_exec(database, sql, AddRow, &faults, &message) != SQLITE_OK) {
      absl::StrAppend(&faults, message == nullptr ? "error" : message, "\n");
    }
    sqlite3_free(message);
  }
  sqlite3_close(database);
  return faults;
}

}  // namespace voxloc::server
