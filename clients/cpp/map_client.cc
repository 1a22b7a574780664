// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/calls.h"
#include "clients/cpp/messages.h"
#include "core/cloud/cloud_digest.h"
#include "core/status/try.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::client {

using MapStub = v1::MapService::Stub;

namespace {

constexpr char kGetTilesCall[] = "GetTiles";

// Puts the parts of tiles together and hands over each that is complete.
class TileAssembly {
 public:
  // `server` is for messages.
  TileAssembly(const std::string& server, bool with_points, const TileReceiver& receive)
      : server_(server), with_points_(with_points), receive_(receive) {}

  absl::Status Add(const v1::GetTilesResponse& part) {
    if (part.has_tile()) {
      if (open_) return Damaged("ends early");
      tile_ = part.tile();
      cloud_ = PointCloud();
      open_ = true;
    }
    if (!open_) return Damaged("has no beginning");
    if (absl::Status status = DecodePoints(part.cloud(), &cloud_); !status.ok()) {
      return Damaged(status.message());
    }
    if (!part.last()) return absl::OkStatus();
    open_ = false;
    if (with_points_ && ToBytes(DigestOf(cloud_)) != tile_.sha256()) {
      return Damaged("does not have the digest that the server names");
    }
    return receive_(tile_, std::move(cloud_));
  }

  // At the end of the stream.
  [[nodiscard]] absl::Status Finish() const {
    return open_ ? Damaged("ends early") : absl::OkStatus();
  }

 private:
  [[nodiscard]] absl::Status Damaged(absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat(server_, " ", kGetTilesCall, ": tile ", tile_.tile_id(), " ", what));
  }

  const std::string& server_;
  const bool with_points_;
  const TileReceiver& receive_;
  v1::TileInfo tile_;
  PointCloud cloud_;
  bool open_ = false;
};

// Reads a stream of parts to its end and returns the revision that they are of. `add` takes each
// part; an error ends the call with it. `began`: whether a part has come.
template <typename Request, typename Part, typename Add>
absl::StatusOr<uint64_t> ReadParts(
    const Channel& channel, const Endpoint& endpoint, absl::string_view call,
    std::unique_ptr<grpc::ClientReader<Part>> (MapStub::*method)(grpc::ClientContext*,
                                                                 const Request&),
    const Request& request, const Add& add, double timeout_s, bool* began) {
  const std::unique_ptr<grpc::ClientContext> context = ContextFor(channel, request);
  const std::unique_ptr<grpc::ClientReader<Part>> reader =
      (MapStub(endpoint.channel).*method)(context.get(), request);
  Part part;
  uint64_t revision = 0;
  absl::Status status;
  bool timed_out = false;
  while (status.ok()) {
    {
      const CancelAfter deadline(context.get(), timeout_s);
      if (!reader->Read(&part)) {
        timed_out = deadline.fired();
        break;
      }
    }
    *began = true;
    revision = part.map_revision();
    status = add(part);
  }
  if (!status.ok()) context->TryCancel();
  const grpc::Status end = reader->Finish();
  if (!status.ok()) return status;
  if (timed_out) {
    return absl::DeadlineExceededError(
        absl::StrCat(endpoint.address, " ", call, ": no answer in ", timeout_s, " s"));
  }
  if (!end.ok()) return channel.impl().StatusOf(endpoint, call, end);
  return revision;
}

}  // namespace

absl::StatusOr<std::vector<v1::MapInfo>> MapClient::List(double timeout_s) const {
  std::vector<v1::MapInfo> maps;
  v1::ListMapsRequest request;
  do {
    VOXLOC_ASSIGN_OR_RETURN(
        v1::ListMapsResponse page,
        CallWithFailover(channel_, "ListMaps", &MapStub::ListMaps, request, timeout_s));
    maps.insert(maps.end(), page.maps().begin(), page.maps().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return maps;
}

absl::StatusOr<v1::MapInfo> MapClient::Get(const std::string& map, double timeout_s) const {
  v1::GetMapRequest request;
  request.set_map(map);
  return MessageIn(CallWithFailover(channel_, "GetMap", &MapStub::GetMap, request, timeout_s),
                   &v1::GetMapResponse::mutable_map);
}

absl::StatusOr<v1::ListTilesResponse> MapClient::ListTiles(const v1::ListTilesRequest& request,
                                                           double timeout_s) const {
  v1::ListTilesRequest next = request;
  next.set_page_size(0);
  next.clear_page_token();
  v1::ListTilesResponse all;
  do {
    VOXLOC_ASSIGN_OR_RETURN(
        const v1::ListTilesResponse page,
        CallWithFailover(channel_, "ListTiles", &MapStub::ListTiles, next, timeout_s));
    all.mutable_tiles()->MergeFrom(page.tiles());
    all.set_map_revision(page.map_revision());
    next.set_page_token(page.next_page_token());
  } while (!next.page_token().empty());
  return all;
}

absl::StatusOr<uint64_t> MapClient::GetTiles(const v1::GetTilesRequest& request,
                                             const TileReceiver& receive, double timeout_s) const {
  const auto get = [&](const Endpoint& endpoint, bool* began) -> absl::StatusOr<uint64_t> {
    TileAssembly assembly(endpoint.address, !request.omit_points(), receive);
    const auto add = [&assembly](const v1::GetTilesResponse& part) { return assembly.Add(part); };
    VOXLOC_ASSIGN_OR_RETURN(const uint64_t revision,
                            ReadParts(channel_, endpoint, kGetTilesCall, &MapStub::GetTiles,
                                      request, add, timeout_s, began));
    VOXLOC_TRY(assembly.Finish());
    return revision;
  };
  return TryEach(channel_, get);
}

absl::StatusOr<uint64_t> MapClient::GetCells(const v1::GetCellsRequest& request,
                                             const CellReceiver& receive, double timeout_s) const {
  return TryEach(channel_, [&](const Endpoint& endpoint, bool* began) {
    return ReadParts(channel_, endpoint, "GetCells", &MapStub::GetCells, request, receive,
                     timeout_s, began);
  });
}

absl::StatusOr<std::vector<v1::MapRevision>> MapClient::ListRevisions(const std::string& map,
                                                                      double timeout_s) const {
  v1::ListRevisionsRequest request;
  request.set_map(map);
  VOXLOC_ASSIGN_OR_RETURN(
      const v1::ListRevisionsResponse response,
      CallWithFailover(channel_, "ListRevisions", &MapStub::ListRevisions, request, timeout_s));
  return std::vector<v1::MapRevision>(response.revisions().begin(), response.revisions().end());
}

absl::StatusOr<v1::MapInfo> MapClient::Activate(const std::string& map, uint64_t revision,
                                                double timeout_s) const {
  v1::ActivateRevisionRequest request;
  request.set_map(map);
  request.set_revision(revision);
  return MessageIn(
      CallOnce(channel_, "ActivateRevision", &MapStub::ActivateRevision, request, timeout_s),
      &v1::ActivateRevisionResponse::mutable_map);
}

absl::StatusOr<v1::MapRevision> MapClient::Withdraw(const std::string& map, uint64_t revision,
                                                    double timeout_s) const {
  v1::WithdrawRevisionRequest request;
  request.set_map(map);
  request.set_revision(revision);
  return MessageIn(
      CallOnce(channel_, "WithdrawRevision", &MapStub::WithdrawRevision, request, timeout_s),
      &v1::WithdrawRevisionResponse::mutable_revision);
}

absl::StatusOr<v1::MapRevision> MapClient::SetCanary(const std::string& map, uint64_t revision,
                                                     const std::vector<std::string>& vehicles,
                                                     double timeout_s) const {
  v1::SetCanaryRequest request;
  request.set_map(map);
  request.set_revision(revision);
  for (const std::string& vehicle : vehicles) request.add_vehicles(vehicle);
  return MessageIn(CallOnce(channel_, "SetCanary", &MapStub::SetCanary, request, timeout_s),
                   &v1::SetCanaryResponse::mutable_revision);
}

absl::StatusOr<uint64_t> MapClient::Drop(const std::string& map, uint64_t revision,
                                         double timeout_s, bool unless_in_use) const {
  v1::DeleteMapRequest request;
  request.set_map(map);
  request.set_revision(revision);
  request.set_unless_in_use(unless_in_use);
  VOXLOC_ASSIGN_OR_RETURN(v1::DeleteMapResponse response,
                          CallOnce(channel_, "DeleteMap", &MapStub::DeleteMap, request, timeout_s));
  return response.revision();
}

absl::StatusOr<v1::MapInfo> MapClient::Undrop(const std::string& map, double timeout_s) const {
  v1::UndeleteMapRequest request;
  request.set_map(map);
  return MessageIn(CallOnce(channel_, "UndeleteMap", &MapStub::UndeleteMap, request, timeout_s),
                   &v1::UndeleteMapResponse::mutable_map);
}

}  // namespace voxloc::client
