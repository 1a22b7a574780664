// SPDX-License-Identifier: Apache-2.0
//
// Maps and their revisions in the database. What changes something works within a transaction of
// its caller; what reads several rows should. The codes of errors are those of MapStore. Not
// thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_REVISION_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_REVISION_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// Now.
struct StoreTime {
  int64_t system_unix_ns = 0;  // as the system's clock has it, which may be set back
  int64_t store_unix_ns = 0;   // never earlier than before
};

// How maps and revisions are kept in the table.
struct MapRow {
  int64_t id = 0;
  uint64_t active_revision = 0;
};
enum : int { kActiveState = 0, kStagedState = 1, kWithdrawnState = 2 };

// NotFound.
[[nodiscard]] absl::StatusOr<MapRow> FindMap(SqlDatabase& database, absl::string_view map);
// The earliest revision of a map's history that can be read, if any; `retained` of them can.
[[nodiscard]] absl::StatusOr<uint64_t> OldestRetained(SqlDatabase& database, int64_t map_id,
                                                      uint32_t retained);

[[nodiscard]] absl::StatusOr<CommittedRevision> CommitRevision(SqlDatabase& database,
                                                               const RevisionCommit& commit,
                                                               uint32_t max_staged,
                                                               const StoreTime& now);
[[nodiscard]] absl::StatusOr<std::optional<StoredRevision>> FindRequestRow(
    SqlDatabase& database, absl::string_view map, absl::string_view request_id);
[[nodiscard]] absl::StatusOr<StoredRevision> ActivateRevision(SqlDatabase& database,
                                                              absl::string_view map,
                                                              uint64_t revision,
                                                              const StoreTime& now);
[[nodiscard]] absl::StatusOr<StoredRevision> WithdrawRevision(SqlDatabase& database,
                                                              absl::string_view map,
                                                              uint64_t revision,
                                                              const StoreTime& now);
[[nodiscard]] absl::StatusOr<StoredRevision> SetCanaryRows(
    SqlDatabase& database, absl::string_view map, uint64_t revision,
    const std::vector<std::string>& vehicles);
[[nodiscard]] absl::StatusOr<uint64_t> DeleteMapRow(SqlDatabase& database, absl::string_view map,
                                                    uint64_t revision, const StoreTime& now);
[[nodiscard]] absl::StatusOr<uint64_t> UndeleteMapRow(SqlDatabase& database, absl::string_view map);

[[nodiscard]] absl::StatusOr<std::vector<StoredMap>> ReadMaps(SqlDatabase& database,
                                                              uint32_t retained);
[[nodiscard]] absl::StatusOr<StoredMap> ReadMap(SqlDatabase& database, absl::string_view map,
                                                uint32_t retained);
[[nodiscard]] absl::StatusOr<Manifest> ReadManifest(SqlDatabase& database, absl::string_view map,
                                                    uint64_t revision, uint32_t retained);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_REVISION_ROWS_H_
