// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_client.h"

#include "clients/cpp/unary.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::client {

using Stub = v1::MapService::Stub;

struct MapClient::Impl {
  Channel channel;
  std::unique_ptr<Stub> stub;
};

MapClient::MapClient(const Channel& channel)
    : impl_(new Impl{channel, v1::MapService::NewStub(channel.impl().channel)}) {}

MapClient::~MapClient() = default;

absl::StatusOr<std::vector<v1::MapInfo>> MapClient::List(double timeout_s) const {
  std::vector<v1::MapInfo> maps;
  v1::ListMapsRequest request;
  do {
    absl::StatusOr<v1::ListMapsResponse> page = CallUnary<v1::ListMapsResponse>(
        impl_->channel, "ListMaps", impl_->stub.get(), &Stub::ListMaps, request, timeout_s);
    if (!page.ok()) return page.status();
    maps.insert(maps.end(), page->maps().begin(), page->maps().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return maps;
}

absl::StatusOr<v1::MapInfo> MapClient::Get(const std::string& map, double timeout_s) const {
  v1::GetMapRequest request;
  request.set_map(map);
  absl::StatusOr<v1::GetMapResponse> response = CallUnary<v1::GetMapResponse>(
      impl_->channel, "GetMap", impl_->stub.get(), &Stub::GetMap, request, timeout_s);
  if (!response.ok()) return response.status();
  return response->map();
}

absl::StatusOr<v1::ListTilesResponse> MapClient::ListTiles(const v1::ListTilesRequest& request,
                                                           double timeout_s) const {
  v1::ListTilesRequest next = request;
  next.set_page_size(0);
  next.clear_page_token();
  v1::ListTilesResponse all;
  do {
    const absl::StatusOr<v1::ListTilesResponse> page = CallUnary<v1::ListTilesResponse>(
        impl_->channel, "ListTiles", impl_->stub.get(), &Stub::ListTiles, next, timeout_s);
    if (!page.ok()) return page.status();
    all.mutable_tiles()->MergeFrom(page->tiles());
    all.set_map_revision(page->map_revision());
    next.set_page_token(page->next_page_token());
  } while (!next.page_token().empty());
  return all;
}

absl::StatusOr<uint64_t> MapClient::Drop(const std::string& map, uint64_t revision,
                                         double timeout_s) const {
  v1::DeleteMapRequest request;
  request.set_map(map);
  request.set_revision(revision);
  absl::StatusOr<v1::DeleteMapResponse> response = CallUnary<v1::DeleteMapResponse>(
      impl_->channel, "DeleteMap", impl_->stub.get(), &Stub::DeleteMap, request, timeout_s);
  if (!response.ok()) return response.status();
  return response->revision();
}

}  // namespace voxloc::client
