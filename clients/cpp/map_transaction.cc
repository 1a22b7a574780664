// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_transaction.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/cancel_after.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/rpc_status.h"
#include "core/checksum/crc32c.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::client {
namespace {

constexpr size_t kPointBytes = 3 * sizeof(float);

// Few enough that the server's answers never fill the connection while no one reads them.
constexpr size_t kMaxUnacknowledged = 16;

constexpr char kUpdateCall[] = "UpdateMapTiles";

}  // namespace

struct MapTransaction::Impl {
  Impl(const Channel& a_channel, const TransactionOptions& an_options)
      : channel(a_channel),
        options(an_options),
        stub(v1::MapService::NewStub(a_channel.impl().channel)) {}

  absl::Status Write(const v1::UpdateMapTilesRequest& request, const CancelAfter& deadline);
  absl::Status Read(v1::UpdateMapTilesResponse* response, const CancelAfter& deadline);
  absl::Status ReadAcknowledgement(const CancelAfter& deadline);
  absl::Status AcknowledgeDownTo(size_t count, const CancelAfter& deadline);
  absl::Status Fail(const CancelAfter& deadline);
  absl::Status Refuse(absl::Status reason);

  const Channel channel;
  const TransactionOptions options;
  const std::unique_ptr<v1::MapService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::UpdateMapTilesRequest, v1::UpdateMapTilesResponse>>
      rpc;
  v1::UpdateBegun begun;
  size_t points_per_chunk = 0;
  size_t unacknowledged = 0;
  uint64_t points_kept = 0;
  uint64_t points_not_finite = 0;
  bool finished = false;  // Finish was called
  absl::Status error;     // what ended the transaction
};

absl::Status MapTransaction::Impl::Write(const v1::UpdateMapTilesRequest& request,
                                         const CancelAfter& deadline) {
  return rpc->Write(request) ? absl::OkStatus() : Fail(deadline);
}

absl::Status MapTransaction::Impl::Read(v1::UpdateMapTilesResponse* response,
                                        const CancelAfter& deadline) {
  return rpc->Read(response) ? absl::OkStatus() : Fail(deadline);
}

absl::Status MapTransaction::Impl::Fail(const CancelAfter& deadline) {
  // What the server sent before it ended the stream is of no use any more.
  v1::UpdateMapTilesResponse ignored;
  while (rpc->Read(&ignored)) {
  }
  error = ToAbslStatus(rpc->Finish(), channel.server(), kUpdateCall);
  finished = true;
  if (deadline.fired()) {
    error = absl::DeadlineExceededError(absl::StrCat(channel.server(), " ", kUpdateCall,
                                                     ": no answer in ", options.timeout_s, " s"));
  } else if (error.ok()) {
    error = absl::InternalError(
        absl::StrCat(channel.server(), " ", kUpdateCall, ": the stream ended before the commit"));
  }
  return error;
}

absl::Status MapTransaction::Impl::Refuse(absl::Status reason) {
  context.TryCancel();
  error = std::move(reason);
  return error;
}

absl::Status MapTransaction::Impl::ReadAcknowledgement(const CancelAfter& deadline) {
  v1::UpdateMapTilesResponse response;
  if (absl::Status status = Read(&response, deadline); !status.ok()) return status;
  if (response.has_tile_added()) {
    points_kept += response.tile_added().points();
    points_not_finite += response.tile_added().not_finite();
  } else if (!response.has_tile_removed()) {
    return Refuse(absl::InternalError(absl::StrCat(channel.server(), " ", kUpdateCall,
                                                   ": an answer that nothing was asked for")));
  }
  --unacknowledged;
  return absl::OkStatus();
}

absl::Status MapTransaction::Impl::AcknowledgeDownTo(size_t count, const CancelAfter& deadline) {
  while (unacknowledged > count) {
    if (absl::Status status = ReadAcknowledgement(deadline); !status.ok()) return status;
  }
  return absl::OkStatus();
}

MapTransaction::MapTransaction(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MapTransaction::~MapTransaction() {
  if (impl_->rpc == nullptr || impl_->finished) return;
  impl_->context.TryCancel();
  v1::UpdateMapTilesResponse ignored;
  while (impl_->rpc->Read(&ignored)) {
  }
  impl_->rpc->Finish();
}

absl::StatusOr<std::unique_ptr<MapTransaction>> MapTransaction::Begin(
    const Channel& channel, const TransactionOptions& options) {
  std::unique_ptr<MapTransaction> transaction(
      new MapTransaction(std::make_unique<Impl>(channel, options)));
  Impl& impl = *transaction->impl_;
  const CancelAfter deadline(&impl.context, options.timeout_s);
  impl.rpc = impl.stub->UpdateMapTiles(&impl.context);
  v1::UpdateMapTilesRequest request;
  *request.mutable_begin() = options.begin;
  if (absl::Status status = impl.Write(request, deadline); !status.ok()) return status;
  v1::UpdateMapTilesResponse response;
  if (absl::Status status = impl.Read(&response, deadline); !status.ok()) return status;
  if (!response.has_begun()) {
    return impl.Refuse(absl::InternalError(
        absl::StrCat(channel.server(), " ", kUpdateCall, ": `begin` was not answered by `begun`")));
  }
  impl.begun = response.begun();
  const uint64_t server_limit = impl.begun.max_chunk_bytes();
  size_t chunk_bytes = options.max_chunk_bytes;
  if (server_limit > 0) chunk_bytes = std::min(chunk_bytes, static_cast<size_t>(server_limit));
  impl.points_per_chunk = std::max<size_t>(1, chunk_bytes / kPointBytes);
  return transaction;
}

const v1::UpdateBegun& MapTransaction::begun() const { return impl_->begun; }

absl::Status MapTransaction::AddTile(const std::string& tile_id, const PointCloud& cloud_map) {
  Impl& impl = *impl_;
  if (!impl.error.ok()) return impl.error;
  const CancelAfter deadline(&impl.context, impl.options.timeout_s);
  v1::UpdateMapTilesRequest request;
  v1::TileChunk* chunk = request.mutable_chunk();
  chunk->set_tile_id(tile_id);
  size_t first = 0;
  uint32_t index = 0;
  do {
    const size_t count = std::min(impl.points_per_chunk, cloud_map.size() - first);
    EncodePoints(cloud_map, first, count, chunk->mutable_cloud());
    chunk->set_chunk_index(index++);
    chunk->set_crc32c(Crc32c(chunk->cloud().data()));
    first += count;
    chunk->set_last(first == cloud_map.size());
    chunk->set_total_points(chunk->last() ? cloud_map.size() : 0);
    if (absl::Status status = impl.Write(request, deadline); !status.ok()) return status;
  } while (first < cloud_map.size());
  ++impl.unacknowledged;
  return impl.AcknowledgeDownTo(kMaxUnacknowledged, deadline);
}

absl::Status MapTransaction::RemoveTile(const std::string& tile_id) {
  Impl& impl = *impl_;
  if (!impl.error.ok()) return impl.error;
  const CancelAfter deadline(&impl.context, impl.options.timeout_s);
  v1::UpdateMapTilesRequest request;
  request.mutable_remove()->set_tile_id(tile_id);
  if (absl::Status status = impl.Write(request, deadline); !status.ok()) return status;
  ++impl.unacknowledged;
  return impl.AcknowledgeDownTo(kMaxUnacknowledged, deadline);
}

absl::StatusOr<v1::UpdateCommitted> MapTransaction::Commit(const std::string& comment) {
  Impl& impl = *impl_;
  if (!impl.error.ok()) return impl.error;
  const CancelAfter deadline(&impl.context, impl.options.timeout_s);
  if (absl::Status status = impl.AcknowledgeDownTo(0, deadline); !status.ok()) return status;
  v1::UpdateMapTilesRequest request;
  request.mutable_commit()->set_comment(comment);
  if (absl::Status status = impl.Write(request, deadline); !status.ok()) return status;
  v1::UpdateMapTilesResponse response;
  if (absl::Status status = impl.Read(&response, deadline); !status.ok()) return status;
  if (!response.has_committed()) {
    return impl.Refuse(absl::InternalError(absl::StrCat(
        impl.channel.server(), " ", kUpdateCall, ": `commit` was not answered by `committed`")));
  }
  // The revision is in use, even if the stream fails now.
  impl.rpc->WritesDone();
  v1::UpdateMapTilesResponse none;
  while (impl.rpc->Read(&none)) {
  }
  impl.rpc->Finish();
  impl.finished = true;
  impl.error = absl::FailedPreconditionError("the transaction was committed");
  return response.committed();
}

uint64_t MapTransaction::points_kept() const { return impl_->points_kept; }
uint64_t MapTransaction::points_not_finite() const { return impl_->points_not_finite; }

}  // namespace voxloc::client
