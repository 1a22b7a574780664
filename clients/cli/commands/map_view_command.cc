// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/map_cells.h"
#include "clients/cli/map/map_source.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/report/every_nth.h"
#include "clients/cli/report/map_view.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct MapViewFlags {
  ServerFlags server;
  std::string source;
  std::string html;
  size_t points = kDefaultViewPoints;
  size_t cells = kMaxLayerCells;
  std::string profile;
  std::optional<uint32_t> stage;  // nullopt: the one that scores
  bool no_sessions = false;
};

Json TileInfoJson(const v1::TileInfo& tile) {
  return {{"revision", tile.revision()},
          {"resident", tile.resident()},
          {"damaged", tile.damaged()},
          {"fit", tile.has_fit() ? MessageJson(tile.fit()) : Json(nullptr)}};
}

// The points of all tiles that are not damaged, and what the server knows of each tile.
absl::Status AddServerTiles(const MapSources& sources, const MapSource& source, double timeout_s,
                            MapView* view) {
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::MapRevision> revisions,
      client::MapClient(sources.channel()).ListRevisions(source.map, timeout_s));
  std::map<uint64_t, int64_t> committed_at_ns;
  for (const v1::MapRevision& revision : revisions) {
    committed_at_ns[revision.revision()] = revision.committed_at_ns();
  }
  const auto describe = [&](const v1::TileInfo& tile) {
    MapViewTile& shown = view->tiles.back();
    shown.points = tile.points();
    shown.info = TileInfoJson(tile);
    const auto committed = committed_at_ns.find(tile.revision());
    if (committed != committed_at_ns.end()) shown.changed_at_ns = committed->second;
  };
  std::vector<std::string> ids;
  for (const auto& [id, tile] : source.tiles) {
    if (!tile.damaged()) {
      ids.push_back(id);
      continue;
    }
    view->AddTile(id, PointCloud());
    describe(tile);
  }
  return sources.ReadTiles(source, ids, [&](const std::string& id, const PointCloud& cloud_map) {
    view->AddTile(id, cloud_map);
    describe(source.tiles.at(id));
    return absl::OkStatus();
  });
}

absl::Status AddCells(const MapSources& sources, const MapSource& source,
                      const MapViewFlags& options, MapView* view) {
  const double timeout_s = options.server.timeout_s;
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(sources.channel(), timeout_s));
  VOXLOC_ASSIGN_OR_RETURN(const v1::Profile profile, ProfileNamed(info, options.profile));
  v1::GetCellsRequest request;
  request.set_map(source.map);
  request.set_profile(profile.name());
  request.set_stage(options.stage.value_or(profile.score_stage()));
  double cell_size_m = 0.0;
  EveryNth<ViewCell> sample(options.cells);
  const auto receive = [&](const v1::GetCellsResponse& part) {
    cell_size_m = part.cell_size_m();
    return ForEachCell(part, [&sample](const MapCell& cell) {
      sample.Offer({cell.mean_map, cell.covariance_map});
      return absl::OkStatus();
    });
  };
  VOXLOC_ASSIGN_OR_RETURN(
      const uint64_t revision,
      client::MapClient(sources.channel()).GetCells(request, receive, timeout_s));
  const size_t all = sample.offered();
  if (all == 0) return absl::OkStatus();
  if (revision != source.revision) {
    view->notes.push_back(
        absl::StrCat("No cells: the server has those of revision ", revision, " only."));
    return absl::OkStatus();
  }
  view->layers.push_back({absl::StrFormat("cells of %g m of %s", cell_size_m, profile.name()),
                          "--map-high",
                          /*cubes=*/false, cell_size_m, sample.Take(), all});
  return absl::OkStatus();
}

// Needs a role that readers of maps may not have: without it the page has none and says so.
void AddSessions(const client::Channel& channel, const std::string& map, double timeout_s,
                 MapView* view) {
  const absl::StatusOr<std::vector<v1::SessionInfo>> sessions =
      client::ListSessions(channel, map, timeout_s);
  if (!sessions.ok()) {
    view->notes.push_back(absl::StrCat("No sessions: ", sessions.status().message()));
    return;
  }
  view->sessions = MessagesJson(*sessions);
}

absl::StatusOr<ExitCode> ViewMap(const MapViewFlags& options) {
  MapSources sources(options.server);
  VOXLOC_ASSIGN_OR_RETURN(const MapSource source, sources.Resolve(options.source));
  const size_t tiles = source.map.empty() ? source.clouds.size() : source.tiles.size();
  if (tiles > kMaxViewTiles) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.text, " must have at most ", kMaxViewTiles, " tiles for a page (got ", tiles, ")"));
  }
  MapView view(options.points);
  if (source.map.empty()) {
    const auto receive = [&view](const std::string& id, const PointCloud& cloud_map) {
      view.AddTile(id, cloud_map);
      return absl::OkStatus();
    };
    VOXLOC_TRY(MapSources::ReadClouds(source, receive));
  } else {
    const double timeout_s = options.server.timeout_s;
    VOXLOC_TRY(AddServerTiles(sources, source, timeout_s, &view));
    if (options.cells > 0) VOXLOC_TRY(AddCells(sources, source, options, &view));
    if (!options.no_sessions) AddSessions(sources.channel(), source.map, timeout_s, &view);
  }
  view.headline = absl::StrCat("Map ", source.text);
  view.made_at_ns = absl::GetCurrentTimeNanos();
  view.client_version = VOXLOC_VERSION;
  const std::string html = MapHtml(view);
  VOXLOC_TRY(WriteTextFile(options.html, html));
  uint64_t points = 0;
  for (const MapViewTile& tile : view.tiles) points += tile.points;
  return Report(options.server.json,
                absl::StrFormat("%s: %s points in %s tiles\npage: %s, %s bytes\n", source.text,
                                GroupDigits(points), GroupDigits(tiles), options.html,
                                GroupDigits(html.size())),
                {{"source", source.text},
                 {"tiles", tiles},
                 {"points", points},
                 {"file", options.html},
                 {"bytes", html.size()}});
}

}  // namespace

void AddMapViewCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ViewMap, "view", "Show a map in an HTML page",
      R"(The page needs no network. It shows the points of the map, thinned by level, from any side; of a
map on a server also its cells, the tiles by their age and by how scans fit them, and where the
vehicles are that use it. Its file has at most 8 bytes for each point, 24 for each cell and some
hundred for each tile. MAP is a cloud file, a directory of clouds (an Autoware map, or one of
voxloc map export), a map of the server, or one of its revisions, MAP@REVISION.

Examples:
  voxloc map view town --html town.html
  voxloc map view town@3 --html town-3.html --no-sessions
  voxloc map view survey/map --html survey.html --points 5000000)");
  options->server.timeout_s = 60.0;
  command->add_option("MAP", options->source, "Show this map")->required();
  AddOutputFile(command, "--html", &options->html, "Write the page to FILE")->required();
  AddViewPointsFlag(command, &options->points);
  AddDefaulted(command, "--cells", options->cells, "N",
               "Show at most N cells of a map on a server, every n-th where it has more; 0: none")
      ->check(CLI::Range(size_t{0}, size_t{2'000'000}));
  AddOption(command, "--profile", options->profile, "P",
            "Show the cells of this profile; default: the server's");
  AddOptional(command, "--stage", options->stage, "N",
              "Show the cells of stage N of the profile; default: the stage that scores");
  command->add_flag("--no-sessions", options->no_sessions,
                    "Do not show where the vehicles of the server's sessions are");
  AddServerFlags(command, &options->server);
}

}  // namespace voxloc::cli
