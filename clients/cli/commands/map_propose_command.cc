// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/fleet_extension.h"
#include "clients/cli/map/fleet_proposal.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/map/map_tiles.h"
#include "clients/cli/map/proposal_page.h"
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
  bool extend = false;
  ExtensionOptions extension;
  size_t threads = 0;
};

// What goes into the map, of changed or of new tiles, and the evidence for it.
struct ProposedTiles {
  std::map<std::string, std::shared_ptr<const PointCloud>> clouds;
  std::set<size_t> drives;  // that show them
  Json evidence;
  std::string text;
};

template <typename Evidence>
void AddTiles(const std::vector<Evidence>& tiles, ProposedTiles& proposed) {
  for (const Evidence& tile : tiles) {
    proposed.clouds[tile.tile] = std::make_shared<const PointCloud>(tile.proposal.cloud_map);
    proposed.drives.insert(tile.drives.begin(), tile.drives.end());
  }
}

absl::StatusOr<ProposedTiles> ProposeChanges(Engine& engine, const MapTiles& map,
                                             const RecordedDrives& drives, const ChangeRule& rule) {
  VOXLOC_ASSIGN_OR_RETURN(const FleetProposal proposal,
                          ProposeForFleet(engine, PreciseProfile(), map, drives, rule));
  ProposedTiles proposed;
  AddTiles(proposal.tiles, proposed);
  proposed.evidence = EvidenceJson(map, drives, rule, proposal);
  proposed.text =
      absl::StrFormat("%d of %d tiles are proposed anew", proposal.tiles.size(), map.tiles.size());
  if (proposal.tiles.empty()) return proposed;
  TextTable table("tile|>points added|>removed|>drives|>held-out scans|>score before|>score after");
  for (const TileEvidence& evidence : proposal.tiles) {
    const TileProposal& tile = evidence.proposal;
    table.AddRow({evidence.tile, GroupDigits(tile.points_added), GroupDigits(tile.points_removed),
                  absl::StrCat(evidence.drives.size()), absl::StrCat(tile.held_out.scans),
                  absl::StrFormat("%.3f", tile.held_out.before),
                  absl::StrFormat("%.3f", tile.held_out.after)});
  }
  absl::StrAppend(&proposed.text, "\n", table.Text());
  return proposed;
}

absl::StatusOr<ProposedTiles> ProposeExtension(Engine& engine, const MapTiles& map,
                                               const RecordedDrives& drives, const ChangeRule& rule,
                                               const ExtensionOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const FleetExtension extension,
                          ExtendForFleet(engine, PreciseProfile(), map, drives, rule, options));
  ProposedTiles proposed;
  AddTiles(extension.tiles, proposed);
  proposed.evidence = ExtensionJson(map, drives, rule, extension);
  proposed.text =
      absl::StrFormat("%d new tiles are proposed beyond the map", extension.tiles.size());
  if (extension.tiles.empty()) return proposed;
  TextTable table("new tile|>points|>drives|>way, m|>held-out scans|>agreeing");
  for (const NewTileEvidence& evidence : extension.tiles) {
    const NewTile& tile = evidence.proposal;
    table.AddRow({evidence.tile, GroupDigits(tile.cloud_map.size()),
                  absl::StrCat(evidence.drives.size()), absl::StrFormat("%.0f", tile.way_m),
                  absl::StrCat(tile.held_out), absl::StrCat(tile.held_out_agreeing)});
  }
  absl::StrAppend(&proposed.text, "\n", table.Text());
  return proposed;
}

absl::StatusOr<client::UploadResult> StageTiles(const MapProposeFlags& options, const MapTiles& map,
                                                const ProposedTiles& proposed,
                                                const RecordedDrives& drives) {
  v1::BeginUpdate begin;
  begin.set_map(map.manifest.map);
  CommitFlags commit = options.commit;
  if (commit.comment == kProposalComment) {
    // What the history of the map says of the evidence.
    std::set<std::string> vehicles;
    for (const size_t drive : proposed.drives) vehicles.insert(drives.drives[drive].vehicle);
    absl::StrAppend(&commit.comment, ": ", options.extend ? "new tiles " : "tiles ",
                    proposed.clouds.size(), ", drives ", proposed.drives.size(), ", vehicles ",
                    vehicles.size());
  }
  if (commit.base_revision == 0) commit.base_revision = map.manifest.revision;
  std::vector<client::UploadTile> tiles;
  for (const auto& [id, cloud] : proposed.clouds) {
    tiles.push_back({id, [tile = cloud] { return *tile; }, std::nullopt});
  }
  return UploadWithProgress(options.server, commit, std::move(begin), std::move(tiles));
}

absl::StatusOr<ExitCode> ProposeMap(const MapProposeFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(MapTiles map, ReadMapTiles(options.map, options.server));
  if (options.commit.stages() && !map.on_server) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--stage and --canary must come with a map of the server (got ", options.map, ")"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const RecordedDrives drives,
                          ReadRecordedDrives(options.drives, map.manifest.map, options.server));
  ChangeRule rule = options.rule;
  rule.min_span_s = 3600.0 * options.min_hours;
  const std::unique_ptr<Engine> engine = MakeCpuEngine({options.threads});
  const Stopwatch watch;
  VOXLOC_ASSIGN_OR_RETURN(const ProposedTiles proposed,
                          options.extend
                              ? ProposeExtension(*engine, map, drives, rule, options.extension)
                              : ProposeChanges(*engine, map, drives, rule));
  std::string text = absl::StrFormat(
      "%s, by %s scans of %d drives in %.1f s: %s\n", map.text, GroupDigits(drives.scans.size()),
      drives.drives.size(), watch.seconds(), absl::StripTrailingAsciiWhitespace(proposed.text));
  Json json = proposed.evidence;
  for (const size_t drive : json["disagreeing_drives"].get<std::vector<size_t>>()) {
    absl::StrAppend(&text, "the drive ", drives.drives[drive].name,
                    " disagrees with the others and was left out\n");
  }
  if (proposed.clouds.empty()) return Report(options.server.json, text, json);
  const std::string page = MapHtml(ProposalView(map, proposed.clouds, json));
  std::set<std::string> old;
  for (MapTile& tile : map.tiles) {
    old.insert(tile.id);
    const auto found = proposed.clouds.find(tile.id);
    if (found != proposed.clouds.end()) tile.cloud_map = found->second;
  }
  for (const auto& [id, cloud] : proposed.clouds) {
    if (old.count(id) == 0) map.tiles.push_back({id, cloud});
  }
  VOXLOC_TRY(WriteMapTiles(options.directory, map));
  VOXLOC_TRY(WriteJson(absl::StrCat(options.directory, "/evidence.json"), json));
  VOXLOC_TRY(WriteTextFile(absl::StrCat(options.directory, "/evidence.html"), page));
  absl::StrAppend(&text, "the map with these tiles is in ", options.directory,
                  ", and evidence.html shows them\n");
  json["directory"] = options.directory;
  if (options.commit.stages()) {
    VOXLOC_ASSIGN_OR_RETURN(const client::UploadResult result,
                            StageTiles(options, map, proposed, drives));
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

With --extend, new tiles beyond the edge of the map are proposed instead, where drives leave it and
several agree, up to 40 m of way from where the map carries their scans. Poses beyond the map are
those of the odometry, which go on from the last ones in it.

MAP is a cloud file, a directory of clouds (an Autoware map, or one of voxloc map export), a map of
the server, or MAP@REVISION. DRIVES is a JSON list of drives, with paths relative to it:
  [{"vehicle": "bus-7", "scans": "monday/scans", "poses": "monday/poses.txt",
    "pose_format": "tum", "base_t_sensor": "1.2,0,1.9,0,0,0"},
   {"vehicle": "bus-8", "bag": "tuesday.mcap", "points": "/points", "poses_topic": "/pose"}]
Also "calib" (of KITTI) and "start_s", the drive's Unix time in seconds, which poses in KITTI's form
need; "pose_format" is kitti where it is missing. {"server": "b:50051"} stands for the drives that
this server has kept (map_update.max_bytes), and DRIVES may be the word "server": those of --server.

DIR gets the whole map with the new tiles, as voxloc map export writes it, evidence.json, and
evidence.html, a page that shows the new tiles. It is not written where nothing is proposed.

Examples:
  voxloc map propose town drives.json proposal
  voxloc map propose --canary bus-7 town drives.json proposal
  voxloc map propose --stage town server proposal
  voxloc map propose --extend --stage town drives.json extension)");
  options->server.timeout_s = 120.0;
  options->commit.comment = kProposalComment;
  AddDefaulted(command, "--min-passes", options->rule.min_passes, "N",
               "Change what at least N drives show, 1 to 64")
      ->check(CLI::Range(1, 64));
  AddDefaulted(command, "--min-hours", options->min_hours, "H",
               "and that lie at least H hours apart, the first from the last")
      ->check(CLI::Range(0.0, 1e5));
  CLI::Option* extend = command->add_flag(
      "--extend", options->extend, "Propose new tiles beyond the edge of the map, and no changes");
  AddDefaulted(command, "--tile-size", options->extension.tile_size_m, "M",
               "Edge of new tiles, metres, 5 to 1000")
      ->check(CLI::Range(5.0, 1000.0))
      ->needs(extend);
  AddDefaulted(command, "--threads", options->threads, "N",
               "Compute with N threads; 0: one for each processor")
      ->check(CLI::Range(0, 1024));
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  command->add_option("MAP", options->map, "Propose for this map")->required();
  command
      ->add_option("DRIVES", options->drives, "Read the drives that this file lists, or 'server'")
      ->required();
  command->add_option("DIR", options->directory, "Write to this directory, made if missing")
      ->required();
}

}  // namespace voxloc::cli
