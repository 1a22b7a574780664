// SPDX-License-Identifier: Apache-2.0
//
// What the store keeps of a tile. The first byte says how long the pieces are in which it comes.

#include <algorithm>

#include "server/maps/tile_loader.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzTileContent(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("no size of pieces");
  const size_t size = std::max<size_t>(1, static_cast<unsigned char>(bytes.front()));
  const absl::string_view content = bytes.substr(1);
  server::TileContentReader reader;
  for (size_t at = 0; at < content.size(); at += size) reader.Append(content.substr(at, size));
  const auto cloud = reader.Finish();
  if (!cloud.ok()) return cloud.status();
  FuzzRequire(server::EncodeOrigin(*cloud) + server::EncodeOffsets(*cloud) == content,
              "what is encoded again has the same bytes");
  return absl::OkStatus();
}

}  // namespace voxloc
