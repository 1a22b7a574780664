// SPDX-License-Identifier: Apache-2.0
//
// A message of UpdateMapTiles, with all checks before the transaction itself.

#include "core/checksum/crc32c.h"
#include "server/convert/map.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc {
namespace {

absl::Status Begin(const v1::BeginUpdate& begin) {
  if (begin.has_options()) {
    const auto build =
        server::MakeMapBuild(server::MapBuildRequestFromProto(begin.options()), ProfileSet());
    if (!build.ok()) return build.status();
    v1::MapOptions options;
    server::MapOptionsToProto(*build, options);
    FuzzRequire(options.profiles_size() > 0, "a map serves a profile");
  }
  if (!begin.has_frame()) return absl::OkStatus();
  const auto frame = server::MapFrameFromProto(begin.frame());
  if (!frame.ok()) return frame.status();
  const auto stored = MapFrameFromText(ToText(*frame));
  FuzzRequire(stored.ok() && *stored == *frame, "a frame can be stored");
  v1::MapFrame proto;
  server::MapFrameToProto(*frame, proto);
  const auto again = server::MapFrameFromProto(proto);
  FuzzRequire(again.ok() && *again == *frame, "a frame comes back from its message");
  return absl::OkStatus();
}

absl::Status TakeBegin(const v1::BeginUpdate& proto) {
  const auto begin = server::BeginFromProto(proto);
  if (!begin.ok()) return begin.status();
  FuzzRequire(begin->map == proto.map() && begin->base_revision == proto.base_revision(),
              "a transaction is of the map that it names");
  FuzzRequire(begin->frame.has_value() == proto.has_frame(), "a frame is not left out");
  return Begin(proto);
}

absl::Status TakeChunk(const v1::TileChunk& proto) {
  const auto chunk = server::ChunkFromProto(proto, server::RequestWorld::Get().config().limits);
  if (!chunk.ok()) return chunk.status();
  FuzzRequire(chunk->sent == chunk->points.size() + chunk->not_finite,
              "every point is counted once");
  FuzzRequire(chunk->points.origin.allFinite(), "an origin is finite");
  FuzzRequire(Crc32c(chunk->bytes) == proto.crc32c(), "the checksum is that of the bytes");
  FuzzRequire(chunk->digest.has_value() == !proto.sha256().empty(), "a digest is not left out");
  return absl::OkStatus();
}

// Their CRC32C is that of their bytes for most chunks: fuzzers do not guess it.
absl::Status TakeChunks(v1::TileChunk chunk) {
  if (chunk.crc32c() % 2 == 0) chunk.set_crc32c(Crc32c(chunk.cloud().data()));
  return TakeChunk(chunk);
}

absl::Status TakeCommit(const v1::CommitUpdate& proto) {
  const auto commit = server::CommitFromProto(proto);
  if (!commit.ok()) return commit.status();
  FuzzRequire(commit->canary_vehicles.empty() || commit->stage, "canaries are of a staged one");
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzUpdateMapTilesRequest(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::UpdateMapTilesRequest>(bytes);
  if (!request.ok()) return request.status();
  switch (request->request_case()) {
    case v1::UpdateMapTilesRequest::kBegin:
      return TakeBegin(request->begin());
    case v1::UpdateMapTilesRequest::kChunk:
      return TakeChunks(request->chunk());
    case v1::UpdateMapTilesRequest::kReuse:
      return server::DigestFromProto(request->reuse().sha256()).status();
    case v1::UpdateMapTilesRequest::kCommit:
      return TakeCommit(request->commit());
    default:
      return absl::InvalidArgumentError("nothing to convert");
  }
}

}  // namespace voxloc
