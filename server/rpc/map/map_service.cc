// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/map/map_name.h"
#include "core/status/try.h"
#include "server/convert/map.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/rpc/services.h"
#include "server/rpc/support/method_handler.h"
#include "server/rpc/support/unary.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::server {
namespace {

absl::Status GetMap(Runtime& runtime, const CallAccess& /*access*/,
                    const v1::GetMapRequest& request, v1::GetMapResponse& response) {
  VOXLOC_ASSIGN_OR_RETURN(auto view, runtime.maps.FindAtLeast(request.map(), 0));
  MapInfoToProto(view, *response.mutable_map());
  return absl::OkStatus();
}

constexpr uint32_t kDefaultMaps = 100;
constexpr uint32_t kMaxMapsPerPage = 1000;

// The token of a page is the last name of the page before: names come and go between two pages, and
// none that stays is left out.
absl::Status ListMaps(Runtime& runtime, const CallAccess& access,
                      const v1::ListMapsRequest& request, v1::ListMapsResponse& response) {
  VOXLOC_ASSIGN_OR_RETURN(const auto size,
                          PageSize(request.page_size(), kDefaultMaps, kMaxMapsPerPage));
  const int most = static_cast<int>(size);
  for (const MapView& view : runtime.maps.List()) {
    if (!access.MaySee(view.snapshot->name)) continue;
    if (!request.page_token().empty() && view.snapshot->name <= request.page_token()) continue;
    if (response.maps_size() == most) {
      response.set_next_page_token(response.maps(most - 1).name());
      break;
    }
    MapInfoToProto(view, *response.add_maps());
  }
  return absl::OkStatus();
}

absl::Status ListRevisions(Runtime& runtime, const CallAccess& /*access*/,
                           const v1::ListRevisionsRequest& request,
                           v1::ListRevisionsResponse& response) {
  VOXLOC_TRY(ValidateMapName(request.map()));
  VOXLOC_ASSIGN_OR_RETURN(const auto map, runtime.library.store().GetMap(request.map()));
  for (const StoredRevision& revision : map.revisions) {
    RevisionToProto(revision, map.active_revision, *response.add_revisions());
  }
  return absl::OkStatus();
}

constexpr uint32_t kDefaultTiles = 1000;
constexpr uint32_t kMaxTilesPerPage = 10'000;

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

absl::Status ListTiles(Runtime& runtime, const CallAccess& /*access*/,
                       const v1::ListTilesRequest& request, v1::ListTilesResponse& response) {
  VOXLOC_ASSIGN_OR_RETURN(const auto size,
                          PageSize(request.page_size(), kDefaultTiles, kMaxTilesPerPage));
  const int most = static_cast<int>(size);
  VOXLOC_TRY(ValidateMapName(request.map()));
  VOXLOC_ASSIGN_OR_RETURN(const auto region, RegionFromProto(request));
  VOXLOC_ASSIGN_OR_RETURN(const auto found,
                          runtime.library.FindTiles(request.map(), request.revision()));
  std::string after;
  if (!request.page_token().empty()) {
    VOXLOC_ASSIGN_OR_RETURN(auto token, ParseToken(request.page_token()));
    if (token.revision != found.revision) {
      return WithReason(
          absl::AbortedError(absl::StrCat("map ", request.map(), " has moved on from revision ",
                                          token.revision, " to ", found.revision)),
          "REVISION_CONFLICT",
          {{"map", request.map()}, {"revision", absl::StrCat(found.revision)}});
    }
    after = token.after;
  }
  response.set_map_revision(found.revision);
  found.tiles.ForEachAfter(after, [&](const TileCatalogue::Tile& tile) {
    if (region.has_value() && !Touches(tile.second.bounds, *region)) return true;
    if (response.tiles_size() == most) {
      response.set_next_page_token(
          absl::StrCat(found.revision, "/", response.tiles(most - 1).tile_id()));
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

absl::Status ActivateRevision(Runtime& runtime, const CallAccess& /*access*/,
                              const v1::ActivateRevisionRequest& request,
                              v1::ActivateRevisionResponse& response) {
  VOXLOC_TRY(ValidateMapName(request.map()));
  VOXLOC_ASSIGN_OR_RETURN(const auto view,
                          runtime.library.Activate(request.map(), request.revision()));
  MapInfoToProto(view, *response.mutable_map());
  Log(LogLevel::kInfo, "revision_activated",
      {{"map", request.map()}, {"revision", request.revision()}});
  return absl::OkStatus();
}

absl::Status WithdrawRevision(Runtime& runtime, const CallAccess& /*access*/,
                              const v1::WithdrawRevisionRequest& request,
                              v1::WithdrawRevisionResponse& response) {
  VOXLOC_TRY(ValidateMapName(request.map()));
  VOXLOC_ASSIGN_OR_RETURN(const auto revision,
                          runtime.library.Withdraw(request.map(), request.revision()));
  RevisionToProto(revision, /*active=*/0, *response.mutable_revision());
  Log(LogLevel::kInfo, "revision_withdrawn",
      {{"map", request.map()}, {"revision", request.revision()}});
  return absl::OkStatus();
}

absl::Status SetCanary(Runtime& runtime, const CallAccess& /*access*/,
                       const v1::SetCanaryRequest& request, v1::SetCanaryResponse& response) {
  VOXLOC_TRY(ValidateMapName(request.map()));
  VOXLOC_ASSIGN_OR_RETURN(const auto vehicles, CanaryFromProto(request.vehicles(), "vehicles"));
  VOXLOC_ASSIGN_OR_RETURN(const auto revision,
                          runtime.library.SetCanary(request.map(), request.revision(), vehicles));
  RevisionToProto(revision, /*active=*/0, *response.mutable_revision());
  Log(LogLevel::kInfo, "canary_set",
      {{"map", request.map()}, {"revision", request.revision()}, {"vehicles", vehicles.size()}});
  return absl::OkStatus();
}

absl::Status UndeleteMap(Runtime& runtime, const CallAccess& /*access*/,
                         const v1::UndeleteMapRequest& request, v1::UndeleteMapResponse& response) {
  VOXLOC_TRY(ValidateMapName(request.map()));
  VOXLOC_ASSIGN_OR_RETURN(const auto view, runtime.library.Undelete(request.map()));
  MapInfoToProto(view, *response.mutable_map());
  Log(LogLevel::kInfo, "map_undeleted",
      {{"map", request.map()}, {"revision", response.map().revision()}});
  return absl::OkStatus();
}

// The vehicles that the error names.
constexpr size_t kNamedVehicles = 3;

absl::Status CheckUnused(const Runtime& runtime, const std::string& map) {
  const auto wanted = [&map](const std::string& of_session) { return of_session == map; };
  const auto sessions = runtime.sessions.List(0, wanted, runtime.sessions.open());
  if (sessions.empty()) return absl::OkStatus();
  std::vector<std::string> vehicles;
  for (const auto& [number, info] : sessions) {
    if (vehicles.size() == kNamedVehicles) break;
    vehicles.push_back(info.vehicle().empty() ? "one without a name" : info.vehicle());
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          sessions.size(), sessions.size() == 1 ? " session uses" : " sessions use", " map \"", map,
          "\": ", absl::StrJoin(vehicles, ", "), sessions.size() > vehicles.size() ? ", ..." : "")),
      "MAP_IN_USE", {{"map", map}, {"sessions", absl::StrCat(sessions.size())}});
}

absl::Status DeleteMap(Runtime& runtime, const CallAccess& /*access*/,
                       const v1::DeleteMapRequest& request, v1::DeleteMapResponse& response) {
  VOXLOC_TRY(ValidateMapName(request.map()));
  if (request.unless_in_use()) {
    VOXLOC_TRY(CheckUnused(runtime, request.map()));
  }
  VOXLOC_ASSIGN_OR_RETURN(auto revision, runtime.library.Delete(request.map(), request.revision()));
  runtime.tile_fits.RemoveMap(request.map());
  response.set_revision(revision);
  Log(LogLevel::kInfo, "map_deleted", {{"map", request.map()}, {"revision", revision}});
  return absl::OkStatus();
}

class MapService : public v1::MapService::CallbackService {
 public:
  explicit MapService(Runtime& runtime) {
    const auto serve = [this, &runtime](RpcMethod method, auto function, const auto& on_mapping) {
      MarkMethodCallback(IndexOf(method), MakeUnaryHandler(runtime, method, function, on_mapping));
    };
    const auto never = [](const auto& /*request*/) { return false; };
    const auto always = [](const auto& /*request*/) { return true; };
    serve(RpcMethod::kGetMap, server::GetMap, never);
    serve(RpcMethod::kListMaps, server::ListMaps, never);
    // The active revision takes no look into the store.
    serve(RpcMethod::kListTiles, server::ListTiles,
          [](const v1::ListTilesRequest& request) { return request.revision() != 0; });
    serve(RpcMethod::kListRevisions, server::ListRevisions, always);
    serve(RpcMethod::kActivateRevision, server::ActivateRevision, always);
    serve(RpcMethod::kWithdrawRevision, server::WithdrawRevision, always);
    serve(RpcMethod::kSetCanary, server::SetCanary, always);
    serve(RpcMethod::kDeleteMap, server::DeleteMap, always);
    serve(RpcMethod::kUndeleteMap, server::UndeleteMap, always);
    const auto stream = [this, &runtime](RpcMethod method, auto make_handler) {
      MarkMethodCallback(IndexOf(method), make_handler(runtime, method));
    };
    stream(RpcMethod::kGetTiles, MakeGetTilesHandler);
    stream(RpcMethod::kGetCells, MakeGetCellsHandler);
    stream(RpcMethod::kWatchMap, MakeWatchMapHandler);
    stream(RpcMethod::kUpdateMapTiles, MakeUpdateMapTilesHandler);
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMapService(Runtime& runtime) {
  return std::make_unique<MapService>(runtime);
}

}  // namespace voxloc::server
