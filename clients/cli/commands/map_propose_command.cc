// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/fleet_proposal.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/map/map_tiles.h"
#include "clients/cli/map/recorded_drives.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "core/engine/cpu/cpu_engine.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kProposalComment[] = "voxloc map propose";

struct MapProposeFlags {
  ServerFlags server;
  CommitFlags commit;
  std::string map;
  std::string drives;
  std::string directory;
  ChangeRule rule;
  double min_hours = ChangeRule{}.min_span_s / 3600.0;
  size_t threads = 0;
};

std::string ProposalText(const FleetProposal& proposal, const RecordedDrives& drives) {
  std::string text;
  if (!proposal.tiles.empty()) {
    TextTable table(
        "tile|>points added|>removed|>drives|>held-out scans|>score before|>score after");
    for (const TileEvidence& evidence : proposal.tiles) {
      const TileProposal& tile = evidence.proposal;
      table.AddRow({evidence.tile, GroupDigits(tile.points_added), GroupDigits(tile.points_removed),
                    absl::StrCat(CountPasses(tile.passes)), absl::StrCat(tile.held_out.scans),
                    absl::StrFormat("%.3f", tile.held_out.before),
                    absl::StrFormat("%.3f", tile.held_out.after)});
    }
    text = table.Text();
  }
  for (const size_t drive : proposal.disagreeing_drives) {
    absl::StrAppend(&text, "the drive ", drives.drives[drive].name,
                    " disagrees with the others and was left out\n");
  }
  return text;
}

// What the history of the map says of the evidence.
std::string StagedComment(const FleetProposal& proposal, const RecordedDrives& drives) {
  std::set<size_t> showing;
  std::set<std::string> vehicles;
  for (const TileEvidence& tile : proposal.tiles) showing.merge(tile.DrivesThatShowIt());
  for (const size_t drive : showing) vehicles.insert(drives.drives[drive].vehicle);
  return absl::StrCat(kProposalComment, ": tiles ", proposal.tiles.size(), ", drives ",
                      showing.size(), ", vehicles ", vehicles.size());
}

absl::StatusOr<client::UploadResult> StageTiles(const MapProposeFlags& options, const MapTiles& map,
                                                const FleetProposal& proposal,
                                                const RecordedDrives& drives) {
  v1::BeginUpdate begin;
  begin.set_map(map.manifest.map);
  CommitFlags commit = options.commit;
  if (commit.comment == kProposalComment) commit.comment = StagedComment(proposal, drives);
  if (commit.base_revision == 0) commit.base_revision = map.manifest.revision;
  std::vector<client::UploadTile> tiles;
  for (const TileEvidence& evidence : proposal.tiles) {
    const PointCloud& cloud = evidence.proposal.cloud_map;
    tiles.push_back({evidence.tile, [&cloud] { return cloud; }, std::nullopt});
  }
  return UploadWithProgress(options.server, commit, std::move(begin), std::move(tiles));
}

absl::StatusOr<ExitCode> ProposeMap(const MapProposeFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(MapTiles map, ReadMapTiles(options.map, options.server));
  if (options.commit.stages() && !map.on_server) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--stage and --canary must come with a map of the server (got ", options.map, ")"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const RecordedDrives drives, ReadRecordedDrives(options.drives));
  ChangeRule rule = options.rule;
  rule.min_span_s = 3600.0 * options.min_hours;
  const std::unique_ptr<Engine> engine = MakeCpuEngine({options.threads});
  const Stopwatch watch;
  VOXLOC_ASSIGN_OR_RETURN(const FleetProposal proposal,
                          ProposeForFleet(*engine, PreciseProfile(), map, drives, rule));
  Json json = EvidenceJson(map, drives, rule, proposal);
  const size_t old_tiles = map.tiles.size();
  std::string text =
      absl::StrFormat("%s: %d of %d tiles are proposed anew, by %s scans of %d drives, %.1f s\n%s",
                      map.text, proposal.tiles.size(), old_tiles, GroupDigits(drives.scans.size()),
                      drives.drives.size(), watch.seconds(), ProposalText(proposal, drives));
  if (proposal.tiles.empty()) return Report(options.server.json, text, json);
  std::map<std::string, const PointCloud*> changed;
  for (const TileEvidence& tile : proposal.tiles) changed[tile.tile] = &tile.proposal.cloud_map;
  for (MapTile& tile : map.tiles) {
    const auto found = changed.find(tile.id);
    if (found != changed.end()) tile.cloud_map = std::make_shared<PointCloud>(*found->second);
  }
  VOXLOC_TRY(WriteMapTiles(options.directory, map));
  VOXLOC_TRY(WriteJson(absl::StrCat(options.directory, "/evidence.json"), json));
  absl::StrAppend(&text, "the map with these tiles is in ", options.directory, "\n");
  json["directory"] = options.directory;
  if (options.commit.stages()) {
    VOXLOC_ASSIGN_OR_RETURN(const client::UploadResult result,
                            StageTiles(options, map, proposal, drives));
    absl::StrAppend(&text, UploadNotes(result, /*staged=*/true, 0));
    json["upload"] = UploadJson(result);
  }
  return Report(options.server.json, text, json);
}

}  // namespace

void AddMapProposeCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ProposeMap, "propose", "Propose new tiles for a map from recorded drives",
      R"(Compares the scans of drives with the map that their poses are in, and makes new tiles where
something changed that stands higher than cars: points that several drives see through leave the
map, and surfaces that all drives see join it. What moves or parks is left as it is. Scans are
aligned with the map again; scans and drives whose poses disagree are left out. Nothing is put in
use: --stage or --canary upload the tiles as a staged revision.

MAP is a cloud file, a directory of clouds (an Autoware map, or one of voxloc map export), a map of
the server, or MAP@REVISION. DRIVES is a JSON list of drives, with paths relative to it:
  [{"vehicle": "bus-7", "scans": "monday/scans", "poses": "monday/poses.txt",
    "pose_format": "tum", "base_t_sensor": "1.2,0,1.9,0,0,0"},
   {"vehicle": "bus-8", "bag": "tuesday.mcap", "points": "/points", "poses_topic": "/pose"}]
Also "calib" (of KITTI) and "start_s", the drive's Unix time in seconds, which poses in KITTI's form
need; "pose_format" is kitti where it is missing.

DIR gets the whole map with the new tiles, as voxloc map export writes it, and evidence.json. It is
not written where nothing is proposed.

Examples:
  voxloc map propose town drives.json proposal
  voxloc map propose --canary bus-7 town drives.json proposal
  voxloc map propose town/map drives.json proposal && voxloc map diff town/map proposal --html changed.html)");
  options->server.timeout_s = 120.0;
  options->commit.comment = kProposalComment;
  AddDefaulted(command, "--min-passes", options->rule.min_passes, "N",
               "Change what at least N drives show, 1 to 64")
      ->check(CLI::Range(1, 64));
  AddDefaulted(command, "--min-hours", options->min_hours, "H",
               "and that lie at least H hours apart, the first from the last")
      ->check(CLI::Range(0.0, 1e5));
  AddDefaulted(command, "--threads", options->threads, "N",
               "Compute with N threads; 0: one for each processor")
      ->check(CLI::Range(0, 1024));
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  command->add_option("MAP", options->map, "Propose for this map")->required();
  command->add_option("DRIVES", options->drives, "Read the drives that this file lists")
      ->required();
  command->add_option("DIR", options->directory, "Write to this directory, made if missing")
      ->required();
}

}  // namespace voxloc::cli
