// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/list_tiles.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/map/map_name.h"
#include "server/convert/map.h"
#include "server/errors/error_details.h"
#include "server/rpc/support/page_size.h"

namespace voxloc::server {
namespace {

constexpr uint32_t kDefaultTiles = 1000;
constexpr uint32_t kMostTiles = 10'000;

// Where a page begins: after this tile of this revision.
struct PageToken {
  uint64_t revision = 0;
  std::string after;
};

absl::StatusOr<PageToken> ParseToken(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  PageToken token;
  if (!absl::SimpleAtoi(parts.first, &token.revision)) {
    return absl::InvalidArgumentError("page_token must be one that ListTiles returned");
  }
  token.after = parts.second;
  return token;
}

}  // namespace

absl::Status ListTiles(Runtime& runtime, const v1::ListTilesRequest& request,
                       v1::ListTilesResponse& response) {
  const auto size = PageSize(request.page_size(), kDefaultTiles, kMostTiles);
  if (!size.ok()) return size.status();
  const int most = static_cast<int>(*size);
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  const auto region = RegionFromProto(request);
  if (!region.ok()) return region.status();
  const auto found = runtime.library.FindTiles(request.map(), request.revision());
  if (!found.ok()) return found.status();
  std::string after;
  if (!request.page_token().empty()) {
    auto token = ParseToken(request.page_token());
    if (!token.ok()) return token.status();
    if (token->revision != found->revision) {
      return WithReason(
          absl::AbortedError(absl::StrCat("map ", request.map(), " has moved on from revision ",
                                          token->revision, " to ", found->revision)),
          "REVISION_CONFLICT",
          {{"map", request.map()}, {"revision", absl::StrCat(found->revision)}});
    }
    after = token->after;
  }
  response.set_map_revision(found->revision);
  found->tiles.ForEachAfter(after, [&](const TileCatalogue::Tile& tile) {
    if (region->has_value() && !Touches(tile.second.bounds, **region)) return true;
    if (response.tiles_size() == most) {
      response.set_next_page_token(
          absl::StrCat(found->revision, "/", response.tiles(most - 1).tile_id()));
      return false;
    }
    v1::TileInfo& info = *response.add_tiles();
    TileInfoToProto(tile.first, tile.second, info);
    const auto fit = runtime.tile_fits.Find(request.map(), tile.first, tile.second.digest);
    if (fit.has_value()) TileFitToProto(*fit, *info.mutable_fit());
    return true;
  });
  return absl::OkStatus();
}

}  // namespace voxloc::server
