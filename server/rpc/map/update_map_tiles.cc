// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/convert/map.h"
#include "server/maps/map_transaction.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"
#include "server/rpc/services.h"
#include "server/rpc/support/bidi_stream.h"

namespace voxloc::server {
namespace {

// Messages are handled one after another on the mapping queue. The next one is read when the last
// one is done, which is the backpressure for a client that is faster than the engine.
class UpdateMapTilesStream
    : public BidiStream<v1::UpdateMapTilesRequest, v1::UpdateMapTilesResponse>,
      public std::enable_shared_from_this<UpdateMapTilesStream> {
 public:
  using BidiStream::BidiStream;

 protected:
  absl::Status Begin() override {
    return RetainPass(runtime_.transactions, runtime_.metrics.rejected_transactions,
                      "map transactions open", "TOO_MANY_TRANSACTIONS");
  }

  void OnRequest(std::unique_ptr<v1::UpdateMapTilesRequest> request) override {
    const std::shared_ptr<v1::UpdateMapTilesRequest> shared = std::move(request);
    if (!runtime_.mapping.Post([self = shared_from_this(), shared] { self->Handle(*shared); })) {
      End(absl::ResourceExhaustedError("too much map work waits"));
    }
  }

  void OnDenied(const v1::UpdateMapTilesRequest& request) override {
    if (request.has_begin()) SetAudit(request.begin().map(), 0, "");
  }

  void OnHalfClose() override {
    End(absl::FailedPreconditionError(
        "the stream ended without commit or abort; nothing has changed"));
  }

  // What the transaction has built is freed where maps are.
  void OnEnded() override {
    static_cast<void>(
        runtime_.mapping.Post([self = shared_from_this()] { self->transaction_.reset(); }));
  }

 private:
  // On the mapping queue.
  void Handle(const v1::UpdateMapTilesRequest& request) {
    const ScopedLogTrace log_trace(trace());
    if (ended()) {  // the client has gone
      transaction_.reset();
      return;
    }
    auto response = std::make_unique<v1::UpdateMapTilesResponse>();
    if (absl::Status status = Dispatch(request, *response); !status.ok()) {
      LogRateLimited(LogLevel::kWarn, "map_update_failed",
                     {{"map", transaction_ == nullptr ? "" : transaction_->map()},
                      {"error", status.ToString()}});
      transaction_.reset();
      End(status);
      return;
    }
    const bool done = response->has_committed() || response->has_aborted();
    if (response->response_case() != v1::UpdateMapTilesResponse::RESPONSE_NOT_SET) {
      Send(std::move(response));
    }
    if (done) {
      transaction_.reset();
      End(absl::OkStatus());
    } else {
      ReadNext();
    }
  }

  // Handles one message. A response that stays empty is not sent.
  absl::Status Dispatch(const v1::UpdateMapTilesRequest& request,
                        v1::UpdateMapTilesResponse& response) {
    if (request.has_begin()) return HandleBegin(request.begin(), *response.mutable_begun());
    if (request.request_case() == v1::UpdateMapTilesRequest::REQUEST_NOT_SET) {
      return absl::InvalidArgumentError("a message of no kind");
    }
    if (transaction_ == nullptr) {
      return absl::FailedPreconditionError("the first message must be begin");
    }
    if (request.has_chunk()) return HandleChunk(request.chunk(), response);
    if (request.has_reuse()) return HandleReuse(request.reuse(), response);
    if (request.has_remove()) {
      return HandleRemove(request.remove(), *response.mutable_tile_removed());
    }
    if (request.has_commit()) return HandleCommit(request.commit(), *response.mutable_committed());
    if (request.has_abort()) return HandleAbort(*response.mutable_aborted());
    return absl::InvalidArgumentError("a message of an unknown kind");
  }

  absl::Status HandleBegin(const v1::BeginUpdate& proto, v1::UpdateBegun& begun) {
    if (transaction_ != nullptr) {
      return absl::FailedPreconditionError("the transaction has begun already");
    }
    SetAudit(proto.map(), 0, "begun");
    VOXLOC_TRY(access().UseMap(proto.map()));
    VOXLOC_TRY(runtime_.sessions.Admit());
    VOXLOC_ASSIGN_OR_RETURN(auto begin, BeginFromProto(proto));
    VOXLOC_ASSIGN_OR_RETURN(transaction_, MapTransaction::Open(runtime_.library, begin));
    begun.set_base_revision(transaction_->base_revision());
    MapOptionsToProto(transaction_->build(), *begun.mutable_options());
    begun.set_max_chunk_bytes(runtime_.live_config.limits()->max_chunk_bytes);
    begun.set_committed_revision(transaction_->committed_revision());
    return absl::OkStatus();
  }

  absl::Status HandleChunk(const v1::TileChunk& proto, v1::UpdateMapTilesResponse& response) {
    VOXLOC_ASSIGN_OR_RETURN(auto chunk, ChunkFromProto(proto, *runtime_.live_config.limits()));
    VOXLOC_ASSIGN_OR_RETURN(auto receipt, transaction_->AddChunk(std::move(chunk)));
    if (receipt.has_value()) ReceiptToProto(*receipt, *response.mutable_tile_added());
    return absl::OkStatus();
  }

  absl::Status HandleReuse(const v1::ReuseTile& proto, v1::UpdateMapTilesResponse& response) {
    VOXLOC_ASSIGN_OR_RETURN(auto digest, DigestFromProto(proto.sha256()));
    MayUseMap may_use;
    if (!access().MaySeeAllMaps()) {
      may_use = [this](const std::string& map) { return access().MaySee(map); };
    }
    VOXLOC_ASSIGN_OR_RETURN(auto receipt,
                            transaction_->ReuseTile(proto.tile_id(), digest, may_use));
    if (receipt.has_value()) {
      ReceiptToProto(*receipt, *response.mutable_tile_added());
    } else {
      response.mutable_tile_missing()->set_tile_id(proto.tile_id());
    }
    return absl::OkStatus();
  }

  static void ReceiptToProto(const TileReceipt& tile, v1::TileAdded& added) {
    added.set_tile_id(tile.tile_id);
    added.set_points(tile.points);
    added.set_not_finite(tile.not_finite);
    added.set_cells(tile.cells);
    added.set_replaces(tile.replaces);
    added.set_sha256(ToBytes(tile.digest));
  }

  absl::Status HandleRemove(const v1::RemoveTile& proto, v1::TileRemoved& removed) {
    VOXLOC_ASSIGN_OR_RETURN(auto existed, transaction_->RemoveTile(proto.tile_id()));
    removed.set_tile_id(proto.tile_id());
    removed.set_existed(existed);
    return absl::OkStatus();
  }

  absl::Status HandleCommit(const v1::CommitUpdate& proto, v1::UpdateCommitted& committed) {
    VOXLOC_ASSIGN_OR_RETURN(auto commit, CommitFromProto(proto));
    SetAudit(transaction_->map(), 0, proto.stage() ? "to be staged" : "to be committed");
    const auto start = std::chrono::steady_clock::now();
    VOXLOC_ASSIGN_OR_RETURN(auto receipt, transaction_->Commit(commit));
    const uint64_t revision = receipt.view.snapshot->revision;
    // The client may have gone meanwhile, with the call's own line.
    if (receipt.repeated) {
      SetAudit(transaction_->map(), revision, "nothing changed, the request is a repetition");
    } else {
      AuditSuccess(
          transaction_->map(), revision,
          absl::StrCat(proto.stage() ? "staged" : "committed", ", tiles added ", receipt.added,
                       ", replaced ", receipt.replaced, ", removed ", receipt.removed));
    }
    const double commit_s = ToSeconds(std::chrono::steady_clock::now() - start);
    runtime_.metrics.map_commits.Increment();
    runtime_.metrics.map_commit_s.Observe(commit_s);
    Log(LogLevel::kInfo, "map_committed",
        {{"map", transaction_->map()},
         {"revision", revision},
         {"tiles", receipt.view.snapshot->tiles.size()},
         {"points", receipt.view.snapshot->tiles.points()},
         {"added", receipt.added},
         {"replaced", receipt.replaced},
         {"removed", receipt.removed},
         {"staged", proto.stage()},
         {"repeated", receipt.repeated},
         {"commit_s", commit_s},
         {"store_s", receipt.store_s},
         {"comment", proto.comment()}});
    MapInfoToProto(receipt.view, *committed.mutable_map());
    committed.set_tiles_added(receipt.added);
    committed.set_tiles_replaced(receipt.replaced);
    committed.set_tiles_removed(receipt.removed);
    committed.set_commit_s(commit_s);
    committed.set_store_s(receipt.store_s);
    committed.set_repeated(receipt.repeated);
    return absl::OkStatus();
  }

  absl::Status HandleAbort(v1::UpdateAborted& aborted) {
    SetAudit(transaction_->map(), 0, "aborted");
    const auto current = runtime_.maps.Find(transaction_->map());
    aborted.set_revision(current.ok() ? current->snapshot->revision : 0);
    return absl::OkStatus();
  }

  // Used on the mapping queue alone, by one message after another.
  std::unique_ptr<MapTransaction> transaction_;
};

}  // namespace

MethodHandler* MakeUpdateMapTilesHandler(Runtime& runtime, RpcMethod method) {
  return MakeBidiStreamHandler<UpdateMapTilesStream>(runtime, method);
}

}  // namespace voxloc::server
