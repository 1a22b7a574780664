// SPDX-License-Identifier: Apache-2.0
//
// Exported tiles, as they are and with a checksum that is right: what the cache of moments and
// other engines hand over.

#include "core/map/tile_codec.h"

#include <cstdint>
#include <string>
#include <vector>

#include "core/checksum/crc32c.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

absl::Status DecodeAsTile(absl::string_view bytes) {
  const auto lattices = DecodeTile(bytes);
  if (!lattices.ok()) return lattices.status();
  std::vector<const TileMoments*> pointers;
  for (const TileMoments& lattice : *lattices) pointers.push_back(&lattice);
  const auto encoded = EncodeTile(pointers);
  FuzzRequire(encoded.ok(), "what was decoded can be encoded");
  FuzzRequire(*encoded == bytes, "what is encoded again has the same bytes");
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzTileCodec(absl::string_view bytes) {
  (void)DecodeAsTile(bytes);
  constexpr size_t kChecksumBytes = 4;
  if (bytes.size() < kChecksumBytes) return DecodeAsTile(bytes);
  std::string sealed(bytes.substr(0, bytes.size() - kChecksumBytes));
  const uint32_t crc = Crc32c(sealed);
  sealed.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  return DecodeAsTile(sealed);
}

}  // namespace voxloc
