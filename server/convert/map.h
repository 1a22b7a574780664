// SPDX-License-Identifier: Apache-2.0
//
// Maps on the wire: what they are, their frames, and the messages of a transaction as
// MapTransaction takes them, checked. Thread-safe: no shared state. Errors are InvalidArgument,
// unless said otherwise.

#ifndef VOXLOC_SERVER_CONVERT_MAP_H_
#define VOXLOC_SERVER_CONVERT_MAP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/checksum/sha256.h"
#include "core/geodesy/map_frame.h"
#include "core/status/try.h"
#include "server/config/config.h"
#include "server/convert/pose.h"
#include "server/maps/fit/tile_fits.h"
#include "server/maps/map_build.h"
#include "server/maps/map_transaction.h"
#include "server/maps/resident_maps.h"
#include "server/maps/store/map_store.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/map_service.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

[[nodiscard]] MapBuildRequest MapBuildRequestFromProto(const v1::MapOptions& options);
void MapOptionsToProto(const MapBuild& build, v1::MapOptions& proto);

void MapInfoToProto(const MapView& view, v1::MapInfo& proto);

// Without `fit`.
void TileInfoToProto(const std::string& tile_id, const MapTile& tile, v1::TileInfo& proto);
void TileFitToProto(const TileFitRecord& record, v1::TileFit& proto);

// Names of the vehicles that try a revision, in the request's field `name`. InvalidArgument: too
// many, empty, or too long.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> CanaryFromProto(
    const google::protobuf::RepeatedPtrField<std::string>& vehicles, absl::string_view name);

// The region of a request that may have one.
template <typename Request>
absl::StatusOr<std::optional<FilterOptions::Box>> RegionFromProto(const Request& request) {
  if (!request.has_region()) return std::nullopt;
  VOXLOC_ASSIGN_OR_RETURN(auto box, BoxFromProto(request.region(), "region"));
  return box;
}

// Whether bounds with a point in them and a box have a point in common.
[[nodiscard]] bool Touches(const Bounds& bounds, const FilterOptions::Box& box);

void LastPoseToProto(const LastPose& pose, int64_t now_unix_ns, v1::LastPose& proto);

// `active`: the map's active revision.
void RevisionToProto(const StoredRevision& revision, uint64_t active, v1::MapRevision& proto);

// InvalidArgument names the field, what is allowed, and what was given.
[[nodiscard]] absl::StatusOr<MapFrame> MapFrameFromProto(const v1::MapFrame& proto);

void MapFrameToProto(const MapFrame& frame, v1::MapFrame& proto);

[[nodiscard]] absl::StatusOr<TransactionBegin> BeginFromProto(const v1::BeginUpdate& proto);

// `bytes`: a `sha256` field.
[[nodiscard]] absl::StatusOr<Sha256Digest> DigestFromProto(absl::string_view bytes);

// `bytes` of the chunk are those of the message, which must outlive it. DataLoss, with the reason
// CHECKSUM_MISMATCH: the bytes do not have the CRC32C that came with them; ResourceExhausted: they
// are more than the limit.
[[nodiscard]] absl::StatusOr<TileChunk> ChunkFromProto(const v1::TileChunk& proto,
                                                       const Limits& limits);

[[nodiscard]] absl::StatusOr<TransactionCommit> CommitFromProto(const v1::CommitUpdate& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_MAP_H_
