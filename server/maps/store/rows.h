// SPDX-License-Identifier: Apache-2.0
//
// Rows of the database that several calls of the store need. What changes something works within a
// transaction of its caller. Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_ROWS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "core/checksum/sha256.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// wanted_unix_ns of content that Collect frees as soon as no revision refers to it.
inline constexpr int64_t kExpiredUnixNs = std::numeric_limits<int64_t>::min();

struct ContentRow {
  int64_t id = 0;
  uint64_t pieces = 0;
};
// Whole content that is not quarantined.
[[nodiscard]] absl::StatusOr<std::optional<ContentRow>> FindContent(SqlDatabase& database,
                                                                    const Sha256Digest& digest);

// Frees some pieces of content that nothing refers to, and the content with the last of them.
// From then on there is no such content.
struct FreedContent {
  uint64_t bytes = 0;
  uint64_t pieces = 0;
  bool all = false;
};
[[nodiscard]] absl::StatusOr<FreedContent> FreeContent(SqlDatabase& database, int64_t content,
                                                       uint64_t max_pieces);

// The earliest revision of a map's history that can be read, if any; `retained` of them can.
[[nodiscard]] absl::StatusOr<uint64_t> OldestRetained(SqlDatabase& database, int64_t map_id,
                                                      uint32_t retained);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_ROWS_H_
