// SPDX-License-Identifier: Apache-2.0
//
// A message of UpdateMapTiles.

#include "core/checksum/sha256.h"
#include "server/convert/cloud.h"
#include "server/convert/map.h"
#include "server/convert/map_frame.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc {
namespace {

absl::Status Begin(const v1::BeginUpdate& begin) {
  if (begin.has_options()) {
    const auto build = server::MakeMapBuild(server::MapBuildRequestFromProto(begin.options()));
    if (!build.ok()) return build.status();
    v1::MapOptions options;
    server::MapOptionsToProto(*build, options);
    FuzzRequire(options.profiles_size() > 0, "a map serves a profile");
  }
  if (!begin.has_frame()) return absl::OkStatus();
  const auto frame = server::MapFrameFromProto(begin.frame());
  if (!frame.ok()) return frame.status();
  const auto stored = server::MapFrameFromText(server::ToText(*frame));
  FuzzRequire(stored.ok() && *stored == *frame, "a frame can be stored");
  v1::MapFrame proto;
  server::MapFrameToProto(*frame, proto);
  const auto again = server::MapFrameFromProto(proto);
  FuzzRequire(again.ok() && *again == *frame, "a frame comes back from its message");
  return absl::OkStatus();
}

absl::Status TakeChunk(const v1::TileChunk& chunk) {
  const auto decoded = server::DecodeTilePoints(
      chunk.cloud(), server::RequestWorld::Get().config().limits.max_chunk_bytes);
  if (!decoded.ok()) return decoded.status();
  FuzzRequire(decoded->received == decoded->cloud.size() + decoded->not_finite,
              "every point is counted once");
  FuzzRequire(decoded->cloud.origin.allFinite(), "an origin is finite");
  return chunk.sha256().empty() ? absl::OkStatus() : Sha256FromBytes(chunk.sha256()).status();
}

}  // namespace

absl::Status FuzzTarget(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::UpdateMapTilesRequest>(bytes);
  if (!request.ok()) return request.status();
  switch (request->request_case()) {
    case v1::UpdateMapTilesRequest::kBegin:
      return Begin(request->begin());
    case v1::UpdateMapTilesRequest::kChunk:
      return TakeChunk(request->chunk());
    case v1::UpdateMapTilesRequest::kReuse:
      return Sha256FromBytes(request->reuse().sha256()).status();
    case v1::UpdateMapTilesRequest::kCommit:
      return server::CanaryFromProto(request->commit().canary_vehicles(), "canary_vehicles")
          .status();
    default:
      return absl::InvalidArgumentError("nothing to convert");
  }
}

}  // namespace voxloc
