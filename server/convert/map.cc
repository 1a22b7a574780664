// SPDX-License-Identifier: Apache-2.0

#include "server/convert/map.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/text/number_range.h"
#include "server/convert/options.h"
#include "server/convert/range.h"
#include "server/convert/scan.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

constexpr int kMaxCanaryVehicles = 1000;

void BoundsToProto(const Bounds& bounds, v1::Box& box) {
  VectorToProto(bounds.min, *box.mutable_min());
  VectorToProto(bounds.max, *box.mutable_max());
}

// Projections in use are within a percent of 1.
constexpr double kMinScale = 0.5;
constexpr double kMaxScale = 2.0;

GeoPoint PointFromProto(const v1::GeoPoint& proto) {
  return {proto.latitude_deg(), proto.longitude_deg(), proto.altitude_m()};
}

void PointToProto(const GeoPoint& point, v1::GeoPoint& proto) {
  proto.set_latitude_deg(point.latitude_deg);
  proto.set_longitude_deg(point.longitude_deg);
  proto.set_altitude_m(point.altitude_m);
}

constexpr size_t kMaxRequestIdBytes = 128;
constexpr size_t kMaxCommentBytes = 256;

}  // namespace

MapBuildRequest MapBuildRequestFromProto(const v1::MapOptions& options) {
  MapBuildRequest request;
  request.profiles.assign(options.profiles().begin(), options.profiles().end());
  if (options.has_cell_size_m()) {
    // A size of 0 is asked for by name here, and is not the profiles' own: NaN is refused later.
    const double size = options.cell_size_m().value();
    request.cell_size_m = size == 0.0 ? std::numeric_limits<double>::quiet_NaN() : size;
  }
  return request;
}

void MapOptionsToProto(const MapBuild& build, v1::MapOptions& proto) {
  for (const std::string& profile : build.request.profiles) proto.add_profiles(profile);
  if (build.request.cell_size_m != 0.0) {
    proto.mutable_cell_size_m()->set_value(build.request.cell_size_m);
  }
}

void MapInfoToProto(const MapView& view, v1::MapInfo& proto) {
  const MapSnapshot& snapshot = *view.snapshot;
  const MapFacts& facts = *view.facts;
  const Bounds& bounds = snapshot.tiles.bounds();
  proto.set_name(snapshot.name);
  proto.set_revision(snapshot.revision);
  MapOptionsToProto(*facts.build, *proto.mutable_options());
  proto.set_tiles(static_cast<uint32_t>(snapshot.tiles.size()));
  proto.set_points(snapshot.tiles.points());
  if (bounds.finite_points > 0) BoundsToProto(bounds, *proto.mutable_bounds());
  const std::vector<CellStatistics>& statistics = snapshot.resident->statistics();
  for (size_t i = 0; i < statistics.size(); ++i) {
    v1::MapCells& cells = *proto.add_cells();
    CellStatisticsToProto(statistics[i], *cells.mutable_statistics());
    cells.set_cells(snapshot.resident->cells(i));
  }
  proto.set_memory_bytes(view.MemoryBytes());
  proto.set_committed_at_ns(snapshot.committed_unix_ns);
  for (const uint64_t revision : facts.restorable_revisions) {
    proto.add_restorable_revisions(revision);
  }
  proto.set_durable(facts.durable);
  proto.set_resident_tiles(static_cast<uint32_t>(snapshot.tiles.resident()));
  if (facts.frame.has_value()) MapFrameToProto(*facts.frame, *proto.mutable_frame());
}

void TileInfoToProto(const std::string& tile_id, const MapTile& tile, v1::TileInfo& proto) {
  proto.set_tile_id(tile_id);
  proto.set_points(tile.points);
  if (tile.bounds.finite_points > 0) BoundsToProto(tile.bounds, *proto.mutable_bounds());
  proto.set_revision(tile.revision);
  proto.set_crc32c(tile.crc32c);
  proto.set_sha256(ToBytes(tile.digest));
  proto.set_resident(tile.resident != nullptr);
  proto.set_damaged(tile.damaged);
}

void TileFitToProto(const TileFitRecord& record, v1::TileFit& proto) {
  const TileFit& fit = record.fit;
  proto.set_last_used_at_ns(record.last_used_unix_ns);
  proto.set_scans(fit.scans);
  proto.set_residual_m(fit.residual_m());
  proto.set_explained_points(fit.points.all - fit.points.mismatched);
  proto.set_unexplained_points(fit.points.mismatched);
  proto.set_unexplained_ratio(fit.points.ratio());
  proto.set_solid_cells(fit.solid.all);
  proto.set_seen_through_ratio(fit.solid.ratio());
  proto.set_change(fit.change());
}

absl::StatusOr<std::vector<std::string>> CanaryFromProto(
    const google::protobuf::RepeatedPtrField<std::string>& vehicles, absl::string_view name) {
  if (vehicles.size() > kMaxCanaryVehicles) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must have at most ", kMaxCanaryVehicles,
                                                   " names (got ", vehicles.size(), ")"));
  }
  for (const std::string& vehicle : vehicles) {
    if (vehicle.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(name, " must have no empty name"));
    }
    VOXLOC_TRY(CheckVehicle(vehicle));
  }
  return std::vector<std::string>(vehicles.begin(), vehicles.end());
}

bool Touches(const Bounds& bounds, const FilterOptions::Box& box) {
  return bounds.finite_points > 0 && (bounds.min.array() <= box.max.array()).all() &&
         (bounds.max.array() >= box.min.array()).all();
}

void LastPoseToProto(const LastPose& pose, int64_t now_unix_ns, v1::LastPose& proto) {
  PoseToProto(pose.map_T_base, *proto.mutable_map_t_base());
  proto.set_map_revision(pose.revision);
  // A clock that was set back makes nothing younger than now.
  proto.set_age_s(1e-9 *
                  static_cast<double>(std::max<int64_t>(0, now_unix_ns - pose.stamp_unix_ns)));
}

void RevisionToProto(const StoredRevision& revision, uint64_t active, v1::MapRevision& proto) {
  proto.set_revision(revision.revision);
  proto.set_parent(revision.parent);
  proto.set_state(revision.state == RevisionState::kStaged      ? v1::REVISION_STATE_STAGED
                  : revision.state == RevisionState::kWithdrawn ? v1::REVISION_STATE_WITHDRAWN
                  : revision.revision == active                 ? v1::REVISION_STATE_ACTIVE
                                                                : v1::REVISION_STATE_SUPERSEDED);
  proto.set_committed_at_ns(revision.committed_unix_ns);
  proto.set_activated_at_ns(revision.activated_unix_ns);
  proto.set_comment(revision.comment);
  proto.set_request_id(revision.request_id);
  proto.set_tiles(revision.tiles);
  proto.set_points(revision.points);
  proto.set_tiles_added(revision.added);
  proto.set_tiles_replaced(revision.replaced);
  proto.set_tiles_removed(revision.removed);
  for (const std::string& vehicle : revision.canary_vehicles) proto.add_canary_vehicles(vehicle);
}

absl::StatusOr<MapFrame> MapFrameFromProto(const v1::MapFrame& proto) {
  MapFrame frame;
  if (proto.has_projector()) {
    const v1::MapProjector& given = proto.projector();
    VOXLOC_ASSIGN_OR_RETURN(auto type, ProjectorTypeFromName(given.projector_type()));
    MapProjector& projector = frame.projector.emplace();
    projector.type = type;
    projector.vertical_datum = given.vertical_datum();
    projector.mgrs_grid = given.mgrs_grid();
    if (given.has_map_origin()) projector.map_origin = PointFromProto(given.map_origin());
    projector.scale_factor = given.scale_factor();
    VOXLOC_TRY(CheckRangeOrZero("frame.projector.scale_factor", projector.scale_factor, kMinScale,
                                kMaxScale, "the type's own"));
  }
  if (proto.has_origin()) {
    if (!proto.origin().has_point()) {
      return absl::InvalidArgumentError("frame.origin must have a point");
    }
    VOXLOC_TRY(CheckRanges({{"frame.origin.x_axis_yaw_rad", proto.origin().x_axis_yaw_rad(),
                             FromTo(-kMaxAngleRad, kMaxAngleRad)}}));
    frame.origin =
        Wgs84Origin{PointFromProto(proto.origin().point()), proto.origin().x_axis_yaw_rad()};
  }
  return MakeMapFrame(std::move(frame));
}

void MapFrameToProto(const MapFrame& frame, v1::MapFrame& proto) {
  if (frame.projector.has_value()) {
    v1::MapProjector& projector = *proto.mutable_projector();
    projector.set_projector_type(std::string(NameOf(frame.projector->type)));
    projector.set_vertical_datum(frame.projector->vertical_datum);
    projector.set_mgrs_grid(frame.projector->mgrs_grid);
    if (frame.projector->map_origin.has_value()) {
      PointToProto(*frame.projector->map_origin, *projector.mutable_map_origin());
    }
    projector.set_scale_factor(frame.projector->scale_factor);
  }
  if (frame.origin.has_value()) {
    PointToProto(frame.origin->point, *proto.mutable_origin()->mutable_point());
    proto.mutable_origin()->set_x_axis_yaw_rad(frame.origin->x_axis_yaw_rad);
  }
}

absl::StatusOr<TransactionBegin> BeginFromProto(const v1::BeginUpdate& proto) {
  VOXLOC_TRY(CheckBytes("request_id", proto.request_id(), kMaxRequestIdBytes));
  TransactionBegin begin;
  begin.map = proto.map();
  begin.create = proto.create();
  begin.base_revision = proto.base_revision();
  begin.clear = proto.clear();
  begin.request_id = proto.request_id();
  begin.from_revision = proto.from_revision();
  if (proto.has_options()) begin.build = MapBuildRequestFromProto(proto.options());
  if (proto.has_frame()) {
    VOXLOC_ASSIGN_OR_RETURN(begin.frame, MapFrameFromProto(proto.frame()));
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
  VOXLOC_ASSIGN_OR_RETURN(auto decoded, DecodeTilePoints(proto.cloud(), limits.max_chunk_bytes));
  chunk.tile_id = proto.tile_id();
  chunk.index = proto.chunk_index();
  chunk.sent = decoded.received;
  chunk.not_finite = decoded.not_finite;
  chunk.points = std::move(decoded.cloud);
  chunk.last = proto.last();
  chunk.total_points = proto.total_points();
  if (!proto.sha256().empty()) {
    VOXLOC_ASSIGN_OR_RETURN(chunk.digest, DigestFromProto(proto.sha256()));
  }
  return chunk;
}

absl::StatusOr<TransactionCommit> CommitFromProto(const v1::CommitUpdate& proto) {
  VOXLOC_TRY(CheckBytes("comment", proto.comment(), kMaxCommentBytes));
  VOXLOC_ASSIGN_OR_RETURN(auto canary, CanaryFromProto(proto.canary_vehicles(), "canary_vehicles"));
  if (!canary.empty() && !proto.stage()) {
    return absl::InvalidArgumentError("canary_vehicles can be named of a staged revision only");
  }
  TransactionCommit commit;
  commit.comment = proto.comment();
  commit.stage = proto.stage();
  commit.canary_vehicles = std::move(canary);
  return commit;
}

}  // namespace voxloc::server
