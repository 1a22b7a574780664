// SPDX-License-Identifier: Apache-2.0
//
// Content in the database: the tables contents and pieces. Every function works within a
// transaction of its caller, but for those that only read. Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_CONTENT_ROWS_H_
#define VOXLOC_SERVER_MAPS_STORE_CONTENT_ROWS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "server/maps/store/content_piece.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// The time of what nobody waits for: Collect frees it as soon as no revision refers to it.
inline constexpr int64_t kNeverWanted = std::numeric_limits<int64_t>::min();

struct ContentRow {
  int64_t id = 0;
  uint64_t bytes = 0;
  uint64_t pieces = 0;
};

// A row for an upload; it has no digest, and no pieces yet.
[[nodiscard]] absl::StatusOr<int64_t> AddUpload(SqlDatabase& database, int64_t unix_ns,
                                                int64_t wanted_unix_ns);
[[nodiscard]] absl::Status AddPiece(SqlDatabase& database, int64_t content, uint64_t index,
                                    const StoredPiece& piece);

// Gives an upload its digest. Where there is such content, that is wanted anew and the upload stays
// what it is; where there is only a quarantined one, whatever refers to that refers to the upload
// from now on. Returns whether the upload is the content now.
[[nodiscard]] absl::StatusOr<bool> NameUpload(SqlDatabase& database, int64_t upload,
                                              const Sha256Digest& digest, int64_t unix_ns);

// Whole content that is not quarantined.
[[nodiscard]] absl::StatusOr<std::optional<ContentRow>> FindContent(SqlDatabase& database,
                                                                    const Sha256Digest& digest);
// Names of the maps that have it in a revision, in order.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> FindMapsWithContent(
    SqlDatabase& database, const Sha256Digest& digest);
// A quarantined one of that digest, which may be in use until it is uploaded again.
[[nodiscard]] absl::StatusOr<std::optional<int64_t>> FindQuarantined(SqlDatabase& database,
                                                                     const Sha256Digest& digest);
// Whether there is such a row with a digest, quarantined or not.
[[nodiscard]] absl::StatusOr<bool> HasContentRow(SqlDatabase& database, int64_t content);

// A piece as it is kept. nullopt: there is none. DataLoss: it cannot be read.
struct PackedPiece {
  uint64_t raw_bytes = 0;
  uint32_t crc32c = 0;
  std::string data;
};
[[nodiscard]] absl::StatusOr<std::optional<PackedPiece>> ReadPiece(SqlDatabase& database,
                                                                   int64_t content, uint64_t index);

[[nodiscard]] absl::Status Quarantine(SqlDatabase& database, int64_t content);
// For messages: where the content is used, as `tile "3_4" of map "town"`; empty: nowhere.
[[nodiscard]] std::string DescribeUse(SqlDatabase& database, int64_t content);

// Which of these are there; to those that are, unless they were less than `fresh_ns` ago,
// `unix_ns` is noted as the time when they were wanted.
[[nodiscard]] absl::StatusOr<std::vector<bool>> WantContent(SqlDatabase& database,
                                                            absl::Span<const Sha256Digest> digests,
                                                            int64_t unix_ns, int64_t fresh_ns);

// Frees some pieces of content that nothing refers to, and the content with the last of them.
// From then on there is no such content. Returns the bytes freed.
struct FreedContent {
  uint64_t bytes = 0;
  uint64_t pieces = 0;
  bool all = false;
};
[[nodiscard]] absl::StatusOr<FreedContent> FreeContent(SqlDatabase& database, int64_t content,
                                                       uint64_t max_pieces);

// Compressed bytes of content that no revision refers to.
[[nodiscard]] absl::StatusOr<uint64_t> UnreferencedBytes(SqlDatabase& database);
// Fills in the counts of content.
[[nodiscard]] absl::Status ReadContentUsage(SqlDatabase& database, StoreUsage& usage);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_CONTENT_ROWS_H_
