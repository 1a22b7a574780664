// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/fleet_extension.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/map/fleet_part.h"
#include "clients/cli/map/fleet_proposal.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/tile_spill.h"
#include "core/map_update/new_area.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Places beyond the map in neighbouring squares of this edge are worked on together.
constexpr double kPlaceM = 50.0;

// The boxes of the places where drives are beyond the map.
std::vector<Bounds> PlacesBeyond(absl::Span<const Bounds> tiles, const RecordedDrives& drives) {
  const NewArea beyond(tiles, kPlaceM);
  std::map<TileSquare, Bounds> squares;
  for (const UpdateScan& scan : drives.scans) {
    const Eigen::Vector3d& place = scan.map_T_base.translation;
    if (beyond.Has(place)) Enlarge({place, place, 1}, squares[beyond.SquareOf(place)]);
  }
  std::vector<Bounds> places;
  while (!squares.empty()) {
    Bounds& place = places.emplace_back();
    std::vector<TileSquare> open = {squares.begin()->first};
    while (!open.empty()) {
      const auto [x, y] = open.back();
      open.pop_back();
      const auto found = squares.find({x, y});
      if (found == squares.end()) continue;
      Enlarge(found->second, place);
      squares.erase(found);
      for (int i = 0; i < 9; ++i) open.emplace_back(x + i % 3 - 1, y + i / 3 - 1);
    }
  }
  return places;
}

std::string FreeId(const std::string& id, const std::set<std::string>& taken) {
  std::string free = id;
  for (size_t i = 2; taken.count(free) > 0; ++i) free = absl::StrCat(id, "_", i);
  return free;
}

}  // namespace

absl::StatusOr<FleetExtension> ExtendForFleet(Engine& engine, const Profile& profile,
                                              const MapTiles& map, const RecordedDrives& drives,
                                              const ChangeRule& rule,
                                              const ExtensionOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const TileGrid grid, TileGrid::Create(options.tile_size_m));
  std::vector<Bounds> bounds;
  std::set<size_t> tiles;
  std::set<std::string> taken;
  for (const MapTile& tile : map.tiles) {
    tiles.insert(bounds.size());
    bounds.push_back(ComputeBounds(*tile.cloud_map));
    taken.insert(tile.id);
  }
  FleetExtension all;
  std::set<size_t> disagreeing;
  const std::vector<Bounds> places = PlacesBeyond(bounds, drives);
  ProgressBar bar("extending", "places beyond the map", places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const FleetPart part(map, bounds, places[i], tiles, drives);
    VOXLOC_ASSIGN_OR_RETURN(ExtensionProposal proposal,
                            ExtendMap(engine, profile, part.Request(rule), options));
    bar.Update(i + 1);
    all.counts.Add(proposal.counts);
    all.unconfirmed_tiles += proposal.unconfirmed_tiles.size();
    disagreeing.merge(part.DrivesOf(proposal.dropped_passes));
    for (NewTile& tile : proposal.tiles) {
      const std::string id =
          FreeId(grid.EmptyTile({tile.square.first, tile.square.second}, 0.0).id, taken);
      taken.insert(id);
      const std::set<size_t> showing = part.DrivesOf(tile.passes);
      all.tiles.push_back({id, std::move(tile), showing});
    }
  }
  all.disagreeing_drives.assign(disagreeing.begin(), disagreeing.end());
  return all;
}

Json ExtensionJson(const MapTiles& map, const RecordedDrives& drives, const ChangeRule& rule,
                   const FleetExtension& extension) {
  const auto tile_json = [&](const NewTileEvidence& evidence) {
    const NewTile& tile = evidence.proposal;
    Json json = ShowingJson(drives, evidence.drives, tile.passes, tile.directions);
    json.update({{"tile", evidence.tile},
                 {"points", tile.cloud_map.size()},
                 {"cubes_new", tile.cubes_new},
                 {"cubes_unsettled", tile.cubes_unsettled},
                 {"way_m", tile.way_m},
                 {"held_out", {{"scans", tile.held_out}, {"agreeing", tile.held_out_agreeing}}}});
    return json;
  };
  Json json = CommonEvidenceJson(map, drives, rule, extension.counts, extension.disagreeing_drives);
  json["new_tiles"] = ListJson(extension.tiles, tile_json);
  json["unconfirmed_tiles"] = extension.unconfirmed_tiles;
  return json;
}

}  // namespace voxloc::cli
