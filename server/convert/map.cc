// SPDX-License-Identifier: Apache-2.0

#include "server/convert/map.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/convert/map_frame.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/profile.h"

namespace voxloc::server {
namespace {

constexpr int kMaxCanaryVehicles = 1000;

void BoundsToProto(const Bounds& bounds, v1::Box& box) {
  VectorToProto(bounds.min, *box.mutable_min());
  VectorToProto(bounds.max, *box.mutable_max());
}

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
  proto.set_explained_points(fit.points.all - fit.points.against);
  proto.set_unexplained_points(fit.points.against);
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
    if (absl::Status status = CheckVehicle(vehicle); !status.ok()) return status;
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
  switch (revision.state) {
    case RevisionState::kActive:
      proto.set_state(revision.revision == active ? v1::REVISION_STATE_ACTIVE
                                                  : v1::REVISION_STATE_SUPERSEDED);
      break;
    case RevisionState::kStaged:
      proto.set_state(v1::REVISION_STATE_STAGED);
      break;
    case RevisionState::kWithdrawn:
      proto.set_state(v1::REVISION_STATE_WITHDRAWN);
      break;
  }
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

}  // namespace voxloc::server
