// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/list_tiles.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/convert/map.h"
#include "server/convert/pose.h"
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

bool Touches(const Bounds& bounds, const FilterOptions::Box& box) {
  return bounds.finite_points > 0 && (bounds.min.array() <= box.max.array()).all() &&
         (bounds.max.array() >= box.min.array()).all();
}

}  // namespace

absl::Status ListTiles(const Runtime& runtime, const v1::ListTilesRequest& request,
                       v1::ListTilesResponse& response) {
  const auto size = PageSize(request.page_size(), kDefaultTiles, kMostTiles);
  if (!size.ok()) return size.status();
  const int most = static_cast<int>(*size);
  std::optional<FilterOptions::Box> region;
  if (request.has_region()) {
    auto box = BoxFromProto(request.region(), "region");
    if (!box.ok()) return box.status();
    region = *box;
  }
  auto view = runtime.maps.FindAtLeast(request.map(), 0);
  if (!view.ok()) return view.status();
  const MapSnapshot& snapshot = *view->snapshot;
  auto tile = snapshot.tiles.begin();
  if (!request.page_token().empty()) {
    auto token = ParseToken(request.page_token());
    if (!token.ok()) return token.status();
    if (token->revision != snapshot.revision) {
      return WithReason(
          absl::AbortedError(absl::StrCat("map ", request.map(), " has moved on from revision ",
                                          token->revision, " to ", snapshot.revision)),
          "REVISION_CONFLICT",
          {{"map", request.map()}, {"revision", absl::StrCat(snapshot.revision)}});
    }
    tile = snapshot.tiles.upper_bound(token->after);
  }
  response.set_map_revision(snapshot.revision);
  for (; tile != snapshot.tiles.end(); ++tile) {
    if (region.has_value() && !Touches(tile->second.bounds, *region)) continue;
    if (response.tiles_size() == most) {
      response.set_next_page_token(
          absl::StrCat(snapshot.revision, "/", response.tiles(most - 1).tile_id()));
      break;
    }
    TileInfoToProto(*view, tile->first, tile->second, *response.add_tiles());
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
