// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/map/map_name.h"
#include "core/status/try.h"
#include "server/convert/map.h"
#include "server/convert/scan.h"
#include "server/rpc/services.h"
#include "server/rpc/support/write_stream.h"

namespace voxloc::server {
namespace {

constexpr int kMaxIds = 10'000;
// 768 KiB of points in a message, well below what any client takes.
constexpr size_t kPointsPerPart = 65'536;
constexpr uint64_t kBytesPerPoint = 12;

class GetTilesStream : public PulledStream<v1::GetTilesRequest, v1::GetTilesResponse> {
 public:
  using PulledStream::PulledStream;

 private:
  struct SelectedTile {
    std::string id;
    MapTile tile;
  };

  absl::StatusOr<std::unique_ptr<v1::GetTilesResponse>> Next() override {
    if (!chosen_) {
      VOXLOC_TRY(Choose());
      chosen_ = true;
    }
    if (next_ == tiles_.size()) return nullptr;
    const SelectedTile& wanted = tiles_[next_];
    if (!points_.has_value() && !ReserveBytes(BytesWith(wanted))) return nullptr;
    auto response = std::make_unique<v1::GetTilesResponse>();
    response->set_map_revision(revision_);
    if (!points_.has_value()) {
      TileInfoToProto(wanted.id, wanted.tile, *response->mutable_tile());
      const auto fit = runtime_.tile_fits.Find(request().map(), wanted.id, wanted.tile.digest);
      if (fit.has_value()) TileFitToProto(*fit, *response->mutable_tile()->mutable_fit());
      if (request().omit_points()) {
        response->set_last(true);
        ++next_;
        return response;
      }
      VOXLOC_ASSIGN_OR_RETURN(points_,
                              runtime_.library.tiles().ReadPoints(wanted.id, wanted.tile.digest));
      sent_ = 0;
    }
    EncodeCloud(*points_, *response->mutable_cloud(), sent_, kPointsPerPart);
    sent_ += kPointsPerPart;
    if (sent_ >= points_->size()) {
      response->set_last(true);
      points_.reset();
      ++next_;
    }
    return response;
  }

  // Bytes kept while the client reads: the list of tiles, the points of this tile, and those in the
  // message being sent.
  [[nodiscard]] uint64_t BytesWith(const SelectedTile& wanted) const {
    const uint64_t list_bytes = tiles_.size() * sizeof(SelectedTile);
    if (request().omit_points()) return list_bytes;
    const uint64_t points = wanted.tile.points;
    return list_bytes + (points + std::min<uint64_t>(points, kPointsPerPart)) * kBytesPerPoint;
  }

  absl::Status Choose() {
    VOXLOC_TRY(ValidateMapName(request().map()));
    if (request().tile_ids_size() > kMaxIds) {
      return absl::InvalidArgumentError(absl::StrCat("tile_ids must have at most ", kMaxIds,
                                                     " entries (got ", request().tile_ids_size(),
                                                     ")"));
    }
    VOXLOC_ASSIGN_OR_RETURN(auto region, RegionFromProto(request()));
    VOXLOC_ASSIGN_OR_RETURN(auto found,
                            runtime_.library.FindTiles(request().map(), request().revision()));
    revision_ = found.revision;
    const auto take = [&](const std::string& id, const MapTile& tile) {
      if (!region.has_value() || Touches(tile.bounds, *region)) {
        tiles_.push_back({id, tile});
        tiles_.back().tile.resident.reset();
      }
    };
    if (request().tile_ids_size() == 0) {
      found.tiles.ForEach([&](const TileCatalogue::Tile& tile) { take(tile.first, tile.second); });
      return absl::OkStatus();
    }
    std::vector<std::string> ids(request().tile_ids().begin(), request().tile_ids().end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const std::string& id : ids) {
      const MapTile* const tile = found.tiles.Find(id);
      if (tile == nullptr) {
        return absl::NotFoundError(absl::StrCat("map ", request().map(), " has no tile '",
                                                absl::CEscape(id.substr(0, 64)), "' at revision ",
                                                revision_));
      }
      take(id, *tile);
    }
    return absl::OkStatus();
  }

  // Used on the reading queue alone.
  bool chosen_ = false;
  uint64_t revision_ = 0;
  std::vector<SelectedTile> tiles_;
  size_t next_ = 0;                   // into them
  std::optional<PointCloud> points_;  // of that tile, once a part has been sent
  size_t sent_ = 0;                   // of them
};

}  // namespace

MethodHandler* MakeGetTilesHandler(Runtime& runtime, RpcMethod method) {
  return MakeWriteStreamHandler<GetTilesStream>(runtime, method);
}

}  // namespace voxloc::server
