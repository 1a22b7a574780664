// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_transaction.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/calls.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/messages.h"
#include "core/checksum/crc32c.h"
#include "core/cloud/cloud_digest.h"
#include "core/status/try.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::client {
namespace {

constexpr size_t kPointBytes = 3 * sizeof(float);

// 128 * 340 B < 64 KiB: the answers, of at most 340 bytes each (a digest and an id of 256), fit the
// flow control window of HTTP/2 while no one reads them.
constexpr size_t kMaxUnacknowledged = 128;

// Of offered tiles whose points may have to be sent: half a second of a link of a gigabit.
constexpr size_t kMaxOfferedBytes = size_t{64} << 20;

}  // namespace

struct MapTransaction::Impl
    : DuplexCall<v1::MapService::Stub, v1::UpdateMapTilesRequest, v1::UpdateMapTilesResponse> {
  // What is to be answered.
  struct Pending {
    enum class Kind { kTile, kReuse, kOffer, kRemoval };
    Kind kind = Kind::kTile;
    std::string tile_id;
    // Of an offer.
    PointCloud cloud;
    Sha256Digest digest{};
  };

  Impl(const Channel& a_channel, const Endpoint& an_endpoint, const TransactionOptions& an_options)
      : DuplexCall(a_channel, an_endpoint, "UpdateMapTiles", an_options.begin, an_options.timeout_s,
                   "the commit"),
        options(an_options) {}

  absl::Status Begin() {
    Start(&v1::MapService::Stub::UpdateMapTiles);
    v1::UpdateMapTilesRequest request;
    *request.mutable_begin() = options.begin;
    VOXLOC_TRY(Write(request));
    v1::UpdateMapTilesResponse response;
    VOXLOC_TRY(Read(&response));
    if (!response.has_begun()) return Unexpected("`begin` was not answered by `begun`");
    begun = response.begun();
    const uint64_t server_limit = begun.max_chunk_bytes();
    size_t chunk_bytes = options.max_chunk_bytes;
    if (server_limit > 0) chunk_bytes = std::min(chunk_bytes, static_cast<size_t>(server_limit));
    points_per_chunk = std::max<size_t>(1, chunk_bytes / kPointBytes);
    return absl::OkStatus();
  }

  // Of an offer or a reuse.
  absl::Status WriteReuse(Pending asked) {
    v1::UpdateMapTilesRequest request;
    request.mutable_reuse()->set_tile_id(asked.tile_id);
    request.mutable_reuse()->set_sha256(ToBytes(asked.digest));
    VOXLOC_TRY(Write(request));
    offered_bytes += asked.cloud.size() * kPointBytes;
    pending.push_back(std::move(asked));
    return DrainPending(kMaxUnacknowledged, kMaxOfferedBytes);
  }

  absl::Status WriteTile(const std::string& tile_id, const PointCloud& cloud_map,
                         std::optional<Sha256Digest> known_digest) {
    CloudDigest digest(cloud_map.origin);
    v1::UpdateMapTilesRequest request;
    v1::TileChunk* chunk = request.mutable_chunk();
    chunk->set_tile_id(tile_id);
    size_t first = 0;
    uint32_t index = 0;
    do {
      const size_t count = std::min(points_per_chunk, cloud_map.size() - first);
      if (!known_digest.has_value()) digest.Update(cloud_map, first, count);
      EncodePoints(cloud_map, first, count, chunk->mutable_cloud());
      chunk->set_chunk_index(index++);
      chunk->set_crc32c(Crc32c(chunk->cloud().data()));
      first += count;
      if (first == cloud_map.size()) {
        chunk->set_last(true);
        chunk->set_total_points(cloud_map.size());
        chunk->set_sha256(ToBytes(known_digest.has_value() ? *known_digest : digest.Finish()));
      }
      VOXLOC_TRY(Write(request));
      counts.bytes_sent += chunk->cloud().data().size();
    } while (first < cloud_map.size());
    unresolved_ids.erase(tile_id);
    pending.push_back({Pending::Kind::kTile, tile_id, {}, {}});
    return absl::OkStatus();
  }

  absl::Status ReadAcknowledgement() {
    v1::UpdateMapTilesResponse response;
    VOXLOC_TRY(Read(&response));
    Pending asked = std::move(pending.front());
    pending.pop_front();
    const bool asked_for_reuse =
        asked.kind == Pending::Kind::kReuse || asked.kind == Pending::Kind::kOffer;
    if (asked.kind == Pending::Kind::kOffer) offered_bytes -= asked.cloud.size() * kPointBytes;
    if (response.has_tile_added() && asked.kind != Pending::Kind::kRemoval) {
      counts.points_kept += response.tile_added().points();
      counts.points_not_finite += response.tile_added().not_finite();
      ++(asked_for_reuse ? counts.tiles_reused : counts.tiles_sent);
      return absl::OkStatus();
    }
    if (response.has_tile_removed() && asked.kind == Pending::Kind::kRemoval) {
      return absl::OkStatus();
    }
    if (response.has_tile_missing() && asked.kind == Pending::Kind::kOffer) {
      return WriteTile(asked.tile_id, asked.cloud, asked.digest);
    }
    if (response.has_tile_missing() && asked.kind == Pending::Kind::kReuse) {
      unresolved_ids.insert(asked.tile_id);
      missing.push_back(std::move(asked.tile_id));
      return absl::OkStatus();
    }
    return Unexpected("an answer that nothing was asked for");
  }

  absl::Status DrainPending(size_t count, size_t offered_bytes_left) {
    while (pending.size() > count || offered_bytes > offered_bytes_left) {
      VOXLOC_TRY(ReadAcknowledgement());
    }
    return absl::OkStatus();
  }

  const TransactionOptions options;
  v1::UpdateBegun begun;
  size_t points_per_chunk = 0;
  std::deque<Pending> pending;  // answered in this order
  size_t offered_bytes = 0;     // of the clouds in `pending`
  std::vector<std::string> missing;
  std::set<std::string> unresolved_ids;  // reused, missing, and not added since
  TransactionCounts counts;
};

MapTransaction::MapTransaction(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MapTransaction::~MapTransaction() = default;

absl::StatusOr<std::unique_ptr<MapTransaction>> MapTransaction::Begin(
    const Channel& channel, const TransactionOptions& options) {
  using Transaction = absl::StatusOr<std::unique_ptr<MapTransaction>>;
  return TryEach(channel, [&](const Endpoint& endpoint, bool* /*began*/) -> Transaction {
    std::unique_ptr<MapTransaction> transaction(
        new MapTransaction(std::make_unique<Impl>(channel, endpoint, options)));
    VOXLOC_TRY(transaction->impl_->Begin());
    return transaction;
  });
}

const v1::UpdateBegun& MapTransaction::begun() const { return impl_->begun; }

absl::Status MapTransaction::AddTile(const std::string& tile_id, const PointCloud& cloud_map) {
  VOXLOC_TRY(impl_->WriteTile(tile_id, cloud_map, std::nullopt));
  return impl_->DrainPending(kMaxUnacknowledged, kMaxOfferedBytes);
}

absl::Status MapTransaction::OfferTile(const std::string& tile_id, PointCloud cloud_map,
                                       const Sha256Digest& digest) {
  return impl_->WriteReuse({Impl::Pending::Kind::kOffer, tile_id, std::move(cloud_map), digest});
}

absl::Status MapTransaction::ReuseTile(const std::string& tile_id, const Sha256Digest& digest) {
  return impl_->WriteReuse({Impl::Pending::Kind::kReuse, tile_id, {}, digest});
}

absl::Status MapTransaction::RemoveTile(const std::string& tile_id) {
  v1::UpdateMapTilesRequest request;
  request.mutable_remove()->set_tile_id(tile_id);
  VOXLOC_TRY(impl_->Write(request));
  impl_->pending.push_back({Impl::Pending::Kind::kRemoval, tile_id, {}, {}});
  return impl_->DrainPending(kMaxUnacknowledged, kMaxOfferedBytes);
}

absl::Status MapTransaction::Flush() {
  if (!impl_->error.ok()) return impl_->error;
  return impl_->DrainPending(0, 0);
}

std::vector<std::string> MapTransaction::TakeMissing() { return std::exchange(impl_->missing, {}); }

absl::StatusOr<v1::UpdateCommitted> MapTransaction::Commit(const v1::CommitUpdate& commit) {
  Impl& impl = *impl_;
  VOXLOC_TRY(Flush());
  if (!impl.unresolved_ids.empty()) {
    return impl.Refuse(absl::FailedPreconditionError(
        absl::StrCat("the points of tile ", *impl.unresolved_ids.begin(), " are missing")));
  }
  v1::UpdateMapTilesRequest request;
  *request.mutable_commit() = commit;
  VOXLOC_TRY(impl.Write(request));
  v1::UpdateMapTilesResponse response;
  VOXLOC_TRY(impl.Read(&response));
  if (!response.has_committed()) {
    return impl.Unexpected("`commit` was not answered by `committed`");
  }
  // The revision is there, even if the stream fails now.
  impl.rpc->WritesDone();
  impl.Finish();
  impl.error = absl::FailedPreconditionError("the transaction was committed");
  return response.committed();
}

const TransactionCounts& MapTransaction::counts() const { return impl_->counts; }

}  // namespace voxloc::client
