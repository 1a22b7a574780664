// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/fleet_proposal.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "clients/cli/output/terminal.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr double kPartM = 100.0;
// From a part to the sensors whose scans see it, and from these to the map that they see.
constexpr double kReachM = kUpdateRangeM;

double Between(const Bounds& a, const Bounds& b) {
  const Eigen::Vector2d gap =
      (a.min - b.max).cwiseMax(b.min - a.max).cwiseMax(Eigen::Vector3d::Zero()).head<2>();
  return gap.norm();
}

Bounds BoundsAt(const Eigen::Vector3d& point) { return {point, point, 1}; }

// The work on one part.
class Part {
 public:
  Part(const MapTiles& map, const std::vector<Bounds>& bounds, const std::set<size_t>& tiles,
       const RecordedDrives& drives) {
    Bounds box;
    for (const size_t tile : tiles) Enlarge(bounds[tile], box);
    std::set<size_t> seen;
    for (const UpdateScan& scan : drives.scans) {
      if (Between(BoundsAt(scan.map_T_base.translation), box) <= kReachM) seen.insert(scan.pass);
    }
    drives_.assign(seen.begin(), seen.end());
    std::stable_sort(drives_.begin(), drives_.end(), [&](size_t a, size_t b) {
      return drives.drives[a].start_ns > drives.drives[b].start_ns;
    });
    drives_.resize(std::min(drives_.size(), kMaxVotingPasses));
    std::map<size_t, size_t> pass_of;
    for (size_t i = 0; i < drives_.size(); ++i) {
      pass_of[drives_[i]] = i;
      start_ns_.push_back(drives.drives[drives_[i]].start_ns);
    }
    for (const UpdateScan& scan : drives.scans) {
      const auto pass = pass_of.find(scan.pass);
      if (pass == pass_of.end() || Between(BoundsAt(scan.map_T_base.translation), box) > kReachM) {
        continue;
      }
      scans_.push_back(scan);
      scans_.back().pass = pass->second;
    }
    for (size_t i = 0; i < map.tiles.size(); ++i) {
      if (bounds[i].finite_points == 0 || Between(bounds[i], box) > 2.0 * kReachM) continue;
      numbers_.push_back(i);
      tiles_.push_back({map.tiles[i].id, map.tiles[i].cloud_map, tiles.count(i) > 0});
    }
  }

  [[nodiscard]] bool seen() const { return !scans_.empty(); }

  [[nodiscard]] absl::StatusOr<UpdateProposal> Propose(Engine& engine, const Profile& profile,
                                                       const ChangeRule& rule) const {
    UpdateRequest request;
    request.tiles = tiles_;
    request.pass_start_ns = start_ns_;
    request.scans = scans_;
    request.rule = rule;
    return ProposeTiles(engine, profile, request);
  }

  [[nodiscard]] const std::vector<size_t>& drives() const { return drives_; }
  [[nodiscard]] const std::string& IdOf(size_t tile) const { return tiles_[tile].id; }
  [[nodiscard]] size_t NumberOf(size_t tile) const { return numbers_[tile]; }

 private:
  std::vector<size_t> drives_;  // by pass
  std::vector<int64_t> start_ns_;
  std::vector<UpdateScan> scans_;
  std::vector<size_t> numbers_;  // of the tiles, in the map
  std::vector<UpdateTile> tiles_;
};

}  // namespace

std::set<size_t> TileEvidence::DrivesThatShowIt() const {
  std::set<size_t> showing;
  for (size_t pass = 0; pass < drives.size(); ++pass) {
    if ((proposal.passes >> pass & 1U) != 0) showing.insert(drives[pass]);
  }
  return showing;
}

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
    const Part part(map, bounds, tiles, drives);
    bar.Update(++done);
    if (!part.seen()) continue;
    VOXLOC_ASSIGN_OR_RETURN(UpdateProposal proposal, part.Propose(engine, profile, rule));
    ++all.parts;
    all.counts.Add(proposal.counts);
    all.votes_memory_bytes = std::max(all.votes_memory_bytes, proposal.votes_memory_bytes);
    for (const size_t tile : proposal.unconfirmed_tiles) {
      all.unconfirmed_tiles.push_back(part.IdOf(tile));
    }
    for (size_t pass = 0; pass < part.drives().size(); ++pass) {
      if ((proposal.dropped_passes >> pass & 1U) != 0) disagreeing.insert(part.drives()[pass]);
    }
    for (TileProposal& tile : proposal.tiles) {
      evidence[part.NumberOf(tile.tile)] = {part.IdOf(tile.tile), std::move(tile), part.drives()};
    }
  }
  for (auto& [number, tile] : evidence) all.tiles.push_back(std::move(tile));
  all.disagreeing_drives.assign(disagreeing.begin(), disagreeing.end());
  return all;
}

Json EvidenceJson(const MapTiles& map, const RecordedDrives& drives, const ChangeRule& rule,
                  const FleetProposal& proposal) {
  const auto tile_json = [&](const TileEvidence& evidence) {
    const TileProposal& tile = evidence.proposal;
    const std::set<size_t> showing = evidence.DrivesThatShowIt();
    std::set<std::string> vehicles;
    for (const size_t drive : showing) vehicles.insert(drives.drives[drive].vehicle);
    return Json{{"tile", evidence.tile},
                {"points", tile.cloud_map.size()},
                {"points_added", tile.points_added},
                {"points_removed", tile.points_removed},
                {"cubes_new", tile.cubes_new},
                {"cubes_gone", tile.cubes_gone},
                {"cubes_unsettled", tile.cubes_unsettled},
                {"drives", showing},
                {"vehicles", vehicles},
                {"held_out",
                 {{"scans", tile.held_out.scans},
                  {"score_before", tile.held_out.before},
                  {"score_after", tile.held_out.after}}}};
  };
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
          {"disagreeing_drives", proposal.disagreeing_drives},
          {"scans",
           {{"used_in_parts", proposal.counts.scans},
            {"not_accepted", proposal.counts.not_accepted},
            {"corrected", proposal.counts.corrected},
            {"held_out", proposal.counts.held_out}}},
          {"tiles", ListJson(proposal.tiles, tile_json)},
          {"unconfirmed_tiles", proposal.unconfirmed_tiles}};
}

}  // namespace voxloc::cli
