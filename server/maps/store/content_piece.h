// SPDX-License-Identifier: Apache-2.0
//
// How pieces of content are kept: compressed, with a checksum. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_MAPS_STORE_CONTENT_PIECE_H_
#define VOXLOC_SERVER_MAPS_STORE_CONTENT_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_CONTENT_PIECE_H_
