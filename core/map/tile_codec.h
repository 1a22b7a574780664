// SPDX-License-Identifier: Apache-2.0
//
// Serialization of a tile's moments, for a cache on disk and for transfer between engines. Decoding
// restores the encoded values bit for bit. The points of a tile remain the source: bytes of another
// version are not converted, the tile is rebuilt.
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

// The version of the layout above and of the meaning of its numbers: the lattice (lattice.h), the
// moments (ndt/cell_gaussian.h) and the float sums (tile_moments.h). Any change of these, or of the
// bits that BuildTileMoments computes, increments it. CellStatistics are applied when a map is
// composed and do not affect it.
constexpr uint32_t kTileCodecVersion = 1;

// Of the lattices of one tile, 1 to 64, ascending by cell size. InvalidArgument: they are not of
// one tile, or not in this order, or too many.
[[nodiscard]] absl::StatusOr<std::string> EncodeTile(absl::Span<const TileMoments* const> lattices);

// DataLoss: not a tile, or corrupt. FailedPrecondition: another version.
// Allocates in proportion to the bytes.
[[nodiscard]] absl::StatusOr<std::vector<TileMoments>> DecodeTile(absl::string_view bytes);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_CODEC_H_
