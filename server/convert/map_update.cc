// SPDX-License-Identifier: Apache-2.0

#include "server/convert/map_update.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "server/convert/cloud.h"
#include "server/convert/map.h"
#include "server/convert/map_frame.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;
constexpr size_t kMaxCommentBytes = 256;

}  // namespace

absl::StatusOr<TransactionBegin> BeginFromProto(const v1::BeginUpdate& proto) {
  if (proto.request_id().size() > kMaxRequestIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat("request_id must have at most ",
                                                   kMaxRequestIdBytes, " bytes (got ",
                                                   proto.request_id().size(), ")"));
  }
  TransactionBegin begin;
  begin.map = proto.map();
  begin.create = proto.create();
  begin.base_revision = proto.base_revision();
  begin.clear = proto.clear();
  begin.request_id = proto.request_id();
  begin.from_revision = proto.from_revision();
  if (proto.has_options()) begin.build = MapBuildRequestFromProto(proto.options());
  if (proto.has_frame()) {
    auto frame = MapFrameFromProto(proto.frame());
    if (!frame.ok()) return frame.status();
    begin.frame = *std::move(frame);
  }
  return begin;
}

absl::StatusOr<Sha256Digest> DigestFromProto(absl::string_view bytes) {
  auto digest = Sha256FromBytes(bytes);
  if (!digest.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("sha256: ", digest.status().message()));
  }
  return digest;
}

absl::StatusOr<TileChunk> ChunkFromProto(const v1::TileChunk& proto, const Limits& limits) {
  TileChunk chunk;
  chunk.bytes = proto.cloud().data();
  chunk.crc32c = Crc32c(chunk.bytes);
  if (chunk.crc32c != proto.crc32c()) {
    return WithReason(absl::DataLossError(
                          absl::StrCat("chunk ", proto.chunk_index(), ": the CRC32C is ",
                                       absl::Hex(chunk.crc32c, absl::kZeroPad8), ", and should be ",
                                       absl::Hex(proto.crc32c(), absl::kZeroPad8))),
                      "CHECKSUM_MISMATCH");
  }
  auto decoded = DecodeTilePoints(proto.cloud(), limits.max_chunk_bytes);
  if (!decoded.ok()) return decoded.status();
  chunk.tile_id = proto.tile_id();
  chunk.index = proto.chunk_index();
  chunk.sent = decoded->received;
  chunk.not_finite = decoded->not_finite;
  chunk.points = std::move(decoded->cloud);
  chunk.last = proto.last();
  chunk.total_points = proto.total_points();
  if (!proto.sha256().empty()) {
    auto digest = DigestFromProto(proto.sha256());
    if (!digest.ok()) return digest.status();
    chunk.digest = *digest;
  }
  return chunk;
}

absl::StatusOr<TransactionCommit> CommitFromProto(const v1::CommitUpdate& proto) {
  if (proto.comment().size() > kMaxCommentBytes) {
    return absl::InvalidArgumentError(absl::StrCat("comment must have at most ", kMaxCommentBytes,
                                                   " bytes (got ", proto.comment().size(), ")"));
  }
  auto canary = CanaryFromProto(proto.canary_vehicles(), "canary_vehicles");
  if (!canary.ok()) return canary.status();
  if (!canary->empty() && !proto.stage()) {
    return absl::InvalidArgumentError("canary_vehicles can be named of a staged revision only");
  }
  TransactionCommit commit;
  commit.comment = proto.comment();
  commit.stage = proto.stage();
  commit.canary_vehicles = *std::move(canary);
  return commit;
}

}  // namespace voxloc::server
