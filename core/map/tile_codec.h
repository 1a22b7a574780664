// SPDX-License-Identifier: Apache-2.0
//
// A tile's moments as bytes, for a cache on disk and for the way from one engine to another. What
// is decoded has the bits that were encoded. The points of a tile remain the truth: bytes of
// another version are not converted, the tile is built again.
//
// Little-endian, without gaps:
//   char     magic[4]       "VXTM"
//   uint32   version        kTileCodecVersion
//   uint64   points         finite ones
//   uint64   not_finite
//   float64  origin[3]      that float sums refer to, map frame, m
//   uint32   lattices       then as many times, ascending by cell size:
//     float64  cell_size_m
//     uint32   float_sums   1: there, 0: not
//     uint32   blocks
//     uint32   cells
//     int32    key[3], uint32 cells    of each block, ascending by key
//     uint16   place                   of each cell, ascending within its block
//     uint64   count, float64 sum[3], float64 outer[6]    of each cell (ndt::CellMoments)
//     float32  sum[3]                  of each cell, where there are float sums (FloatSum)
//   uint32   crc32c         of everything before it, in every version

#ifndef VOXLOC_CORE_MAP_TILE_CODEC_H_
#define VOXLOC_CORE_MAP_TILE_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/map/tile_moments.h"

namespace voxloc {

// Of the layout above and of what the numbers in it mean: the lattice (lattice.h), the moments
// (ndt/cell_gaussian.h) and the float sums (tile_moments.h). A change of any of them, or of the
// bits that BuildTileMoments computes, takes the next number. What becomes of moments afterwards
// (CellStatistics) is decided when a map is composed, and does not count.
constexpr uint32_t kTileCodecVersion = 1;

// Of the lattices of one tile, 1 to 64, ascending by cell size. InvalidArgument: they are not of
// one tile, or not in this order, or too many.
[[nodiscard]] absl::StatusOr<std::string> EncodeTile(absl::Span<const TileMoments* const> lattices);

// DataLoss: the bytes are not those of a tile, or damaged; FailedPrecondition: another version.
// Allocates in proportion to the bytes.
[[nodiscard]] absl::StatusOr<std::vector<TileMoments>> DecodeTile(absl::string_view bytes);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_CODEC_H_
