// SPDX-License-Identifier: Apache-2.0

#include "server/convert/map.h"

#include <limits>

#include "server/convert/pose.h"
#include "server/convert/profile.h"

namespace voxloc::server {
namespace {

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
  proto.set_name(snapshot.name);
  proto.set_revision(snapshot.revision);
  MapOptionsToProto(*facts.build, *proto.mutable_options());
  proto.set_tiles(static_cast<uint32_t>(snapshot.tiles.size()));
  proto.set_points(facts.points);
  if (facts.bounds.finite_points > 0) BoundsToProto(facts.bounds, *proto.mutable_bounds());
  const std::vector<CellStatistics>& statistics = snapshot.resident->statistics();
  for (size_t i = 0; i < statistics.size(); ++i) {
    v1::MapCells& cells = *proto.add_cells();
    CellStatisticsToProto(statistics[i], *cells.mutable_statistics());
    cells.set_cells(snapshot.resident->cells(i));
  }
  proto.set_memory_bytes(facts.memory_bytes);
  proto.set_committed_at_ns(snapshot.committed_unix_ns);
}

void TileInfoToProto(const MapView& view, const std::string& tile_id, const MapTile& tile,
                     v1::TileInfo& proto) {
  proto.set_tile_id(tile_id);
  proto.set_points(tile.points);
  if (tile.bounds.finite_points > 0) BoundsToProto(tile.bounds, *proto.mutable_bounds());
  proto.set_revision(tile.revision);
  if (const auto checksum = view.facts->checksums.find(tile_id);
      checksum != view.facts->checksums.end()) {
    proto.set_crc32c(checksum->second);
  }
}

}  // namespace voxloc::server
