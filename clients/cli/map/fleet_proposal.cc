// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/fleet_proposal.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "clients/cli/map/fleet_part.h"
#include "clients/cli/output/terminal.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr double kPartM = 100.0;
}  // namespace

absl::StatusOr<FleetProposal> ProposeForFleet(Engine& engine, const Profile& profile,
                                              const MapTiles& map, const RecordedDrives& drives,
                                              const ChangeRule& rule) {
  std::vector<Bounds> bounds;
  std::map<std::pair<int64_t, int64_t>, std::set<size_t>> parts;
  for (size_t i = 0; i < map.tiles.size(); ++i) {
    bounds.push_back(ComputeBounds(*map.tiles[i].cloud_map));
    if (bounds.back().finite_points == 0) continue;
    const Eigen::Vector3d centre = 0.5 * (bounds.back().min + bounds.back().max);
    parts[{std::llround(centre.x() / kPartM), std::llround(centre.y() / kPartM)}].insert(i);
  }
  FleetProposal all;
  std::map<size_t, TileEvidence> evidence;
  std::set<size_t> disagreeing;
  ProgressBar bar("proposing", "parts of the map", parts.size());
  size_t done = 0;
  for (const auto& [place, tiles] : parts) {
    Bounds box;
    for (const size_t tile : tiles) Enlarge(bounds[tile], box);
    const FleetPart part(map, bounds, box, tiles, drives);
    bar.Update(++done);
    if (!part.seen()) continue;
    VOXLOC_ASSIGN_OR_RETURN(UpdateProposal proposal,
                            ProposeTiles(engine, profile, part.Request(rule)));
    ++all.parts;
    all.counts.Add(proposal.counts);
    all.votes_memory_bytes = std::max(all.votes_memory_bytes, proposal.votes_memory_bytes);
    for (const size_t tile : proposal.unconfirmed_tiles) {
      all.unconfirmed_tiles.push_back(part.IdOf(tile));
    }
    disagreeing.merge(part.DrivesOf(proposal.dropped_passes));
    for (TileProposal& tile : proposal.tiles) {
      const std::set<size_t> showing = part.DrivesOf(tile.passes);
      evidence[part.NumberOf(tile.tile)] = {part.IdOf(tile.tile), std::move(tile), showing};
    }
  }
  for (auto& [number, tile] : evidence) all.tiles.push_back(std::move(tile));
  all.disagreeing_drives.assign(disagreeing.begin(), disagreeing.end());
  return all;
}

Json ShowingJson(const RecordedDrives& drives, const std::set<size_t>& showing, PassMask passes,
                 const PassDirections& directions) {
  std::set<std::string> vehicles;
  for (const size_t drive : showing) vehicles.insert(drives.drives[drive].vehicle);
  return {{"drives", showing},
          {"vehicles", vehicles},
          {"drives_by_direction",
           {CountPasses(passes & directions.one), CountPasses(passes & directions.other)}}};
}

Json CommonEvidenceJson(const MapTiles& map, const RecordedDrives& drives, const ChangeRule& rule,
                        const ScanCounts& counts, const std::vector<size_t>& disagreeing_drives) {
  const auto drive_json = [](const RecordedDrive& drive) {
    return Json{{"name", drive.name},
                {"vehicle", drive.vehicle},
                {"start_s", 1e-9 * static_cast<double>(drive.start_ns)},
                {"scans", drive.scans}};
  };
  return {{"map", map.text},
          {"rule",
           {{"min_passes", rule.min_passes},
            {"min_hours", rule.min_span_s / 3600.0},
            {"max_contrary", rule.max_contrary}}},
          {"drives", ListJson(drives.drives, drive_json)},
          {"disagreeing_drives", disagreeing_drives},
          {"scans",
           {{"used_in_parts", counts.scans},
            {"not_accepted", counts.not_accepted},
            {"corrected", counts.corrected},
            {"held_out", counts.held_out}}}};
}

Json EvidenceJson(const MapTiles& map, const RecordedDrives& drives, const ChangeRule& rule,
                  const FleetProposal& proposal) {
  const auto tile_json = [&](const TileEvidence& evidence) {
    const TileProposal& tile = evidence.proposal;
    Json json = ShowingJson(drives, evidence.drives, tile.passes, tile.directions);
    json.update({{"tile", evidence.tile},
                 {"points", tile.cloud_map.size()},
                 {"points_added", tile.points_added},
                 {"points_removed", tile.points_removed},
                 {"cubes_new", tile.cubes_new},
                 {"cubes_gone", tile.cubes_gone},
                 {"cubes_unsettled", tile.cubes_unsettled},
                 {"held_out",
                  {{"scans", tile.held_out.scans},
                   {"score_before", tile.held_out.before},
                   {"score_after", tile.held_out.after}}}});
    return json;
  };
  Json json = CommonEvidenceJson(map, drives, rule, proposal.counts, proposal.disagreeing_drives);
  json["tiles"] = ListJson(proposal.tiles, tile_json);
  json["unconfirmed_tiles"] = proposal.unconfirmed_tiles;
  return json;
}

}  // namespace voxloc::cli
