// SPDX-License-Identifier: Apache-2.0
//
// Content in the database: rows of contents, their pieces, which are compressed and have a
// checksum, and the revisions that keep them. What changes something works within a transaction of
// its caller. Not thread-safe: as SqlDatabase.

#ifndef VOXLOC_SERVER_MAPS_STORE_CONTENTS_H_
#define VOXLOC_SERVER_MAPS_STORE_CONTENTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/checksum/sha256.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

// Content is mostly rows of x, y and z as float32.
inline constexpr size_t kPieceRowBytes = 12;
// A piece before compression: whole rows, and at most 2 MiB, so that a transaction of one is short
// and a reader needs little memory.
inline constexpr size_t kMaxPieceBytes = (size_t{2} << 20) / kPieceRowBytes * kPieceRowBytes;

struct StoredPiece {
  uint64_t raw_bytes = 0;
  uint32_t crc32c = 0;  // of `data`
  std::string data;     // compressed
};

// Internal: zstd failed, which only happens where memory has run out.
[[nodiscard]] absl::StatusOr<StoredPiece> PackPiece(absl::string_view raw);

// DataLoss: the data has another checksum, or is not what PackPiece makes of `raw_bytes` bytes.
[[nodiscard]] absl::StatusOr<std::string> UnpackPiece(const StoredPiece& piece);

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

#endif  // VOXLOC_SERVER_MAPS_STORE_CONTENTS_H_
