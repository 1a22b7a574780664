// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/fleet_state.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "clients/cli/fleet/revision_trial.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

// Below this share of accepted answers a vehicle needs attention.
constexpr double kWellTrackedRatio = 0.99;

// The vehicles of a server that run one revision of a map.
struct FleetRevisionUse {
  size_t vehicles = 0;
  FleetScans recent;
};

// How the vehicles on `map` use its revisions; those without an answer yet are left out.
std::map<uint64_t, FleetRevisionUse> RevisionUses(const FleetServer& server,
                                                  const std::string& map) {
  std::map<uint64_t, FleetRevisionUse> uses;
  for (const FleetVehicle& vehicle : server.vehicles) {
    const uint64_t revision = vehicle.session.map_revision();
    if (vehicle.session.map() != map || revision == 0) continue;
    FleetRevisionUse& use = uses[revision];
    ++use.vehicles;
    use.recent.Add(vehicle.recent);
  }
  return uses;
}

std::vector<const v1::SessionInfo*> SessionsOn(const FleetServer& server, const std::string& map) {
  std::vector<const v1::SessionInfo*> sessions;
  for (const FleetVehicle& vehicle : server.vehicles) {
    if (vehicle.session.map() == map) sessions.push_back(&vehicle.session);
  }
  return sessions;
}

// Of the map's staged revisions that a vehicle has used after another one.
std::vector<RevisionTrial> TrialsOf(const FleetServer& server, const FleetMap& map) {
  const std::vector<const v1::SessionInfo*> sessions = SessionsOn(server, map.info.name());
  std::vector<RevisionTrial> trials;
  for (const v1::MapRevision& revision : map.revisions) {
    if (revision.state() != v1::REVISION_STATE_STAGED) continue;
    RevisionTrial trial = TrialOf(revision.revision(), sessions);
    if (trial.vehicles > 0) trials.push_back(std::move(trial));
  }
  return trials;
}

// Whether a vehicle's last answer, or more than one in a hundred of its recent ones, was not
// accepted.
bool NeedsAttention(const FleetVehicle& vehicle) {
  if (vehicle.recent.accepted_ratio().value_or(1.0) < kWellTrackedRatio) return true;
  const v1::AlignmentStatus status = vehicle.session.status();
  return status != v1::ALIGNMENT_STATUS_UNSPECIFIED && status != v1::ALIGNMENT_STATUS_OK &&
         status != v1::ALIGNMENT_STATUS_DEGENERATE;
}

Json OptionalJson(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json ErrorJson(const absl::Status& status) {
  return status.ok() ? Json(nullptr) : Json(std::string(status.message()));
}

void AppendScans(const FleetScans& scans, Json& json) {
  json["rate_per_s"] = scans.rate_per_s;
  json["accepted_ratio"] = OptionalJson(scans.accepted_ratio());
}

Json VehicleJson(const FleetVehicle& vehicle) {
  Json json = MessageJson(vehicle.session);
  AppendScans(vehicle.recent, json);
  json["silent_s"] = OptionalJson(vehicle.silent_s);
  json["needs_attention"] = NeedsAttention(vehicle);
  return json;
}

Json FleetMapJson(const FleetServer& server, const FleetMap& map) {
  Json json = MapJson(map.info);
  json["revisions_error"] = ErrorJson(map.revisions_status);
  json["revisions"] = MessagesJson(map.revisions);
  json["in_use"] = Json::array();
  for (const auto& [revision, use] : RevisionUses(server, map.info.name())) {
    Json entry = {{"revision", revision}, {"vehicles", use.vehicles}};
    AppendScans(use.recent, entry);
    json["in_use"].push_back(std::move(entry));
  }
  json["trials"] = ListJson(TrialsOf(server, map), &TrialJson);
  json["tiles_error"] = ErrorJson(map.tiles_status);
  json["worst_tiles"] = MessagesJson(map.worst_tiles);
  return json;
}

double UptimeOf(const v1::GetServerInfoResponse& info) {
  return static_cast<double>(info.now_ns() - info.started_at_ns()) * 1e-9;
}

Json ServerJson(const FleetServer& server) {
  Json json = {{"server", server.address}, {"error", ErrorJson(server.status)}};
  if (!server.status.ok()) return json;
  const v1::GetServerInfoResponse& info = server.info;
  const auto* state = v1::ServerState_descriptor()->FindValueByNumber(info.state());
  json["version"] = info.version();
  json["state"] = state == nullptr ? Json(static_cast<int>(info.state())) : Json(EnumWord(*state));
  json["engine"] = info.engine();
  json["engine_note"] = info.engine_note();
  json["uptime_s"] = UptimeOf(info);
  json["sessions_error"] = ErrorJson(server.sessions_status);
  json["vehicles"] = ListJson(server.vehicles, &VehicleJson);
  json["maps_error"] = ErrorJson(server.maps_status);
  json["maps"] = ListJson(server.maps, [&](const auto& map) { return FleetMapJson(server, map); });
  return json;
}

std::string FleetPercent(const FleetScans& scans) {
  const std::optional<double> ratio = scans.accepted_ratio();
  if (!ratio.has_value()) return "-";
  // Rounded down: 100 % is said of all only.
  return absl::StrFormat("%.1f %%", static_cast<double>(static_cast<int>(1e3 * *ratio)) / 10);
}

std::string FleetRate(const FleetScans& scans) { return absl::StrFormat("%.1f", scans.rate_per_s); }

std::string DurationText(double seconds) {
  if (seconds < 100.0) return absl::StrFormat("%.1f s", seconds);
  if (seconds < 6000.0) return absl::StrFormat("%.0f min", seconds / 60.0);
  if (seconds < 360'000.0) return absl::StrFormat("%.0f h", seconds / 3600.0);
  return absl::StrFormat("%.0f d", seconds / 86'400.0);
}

std::string TotalsText(const FleetState& fleet) {
  const FleetTotals totals = TotalsOf(fleet);
  // Without the date, so that it fits 80 columns.
  const std::string time =
      absl::FormatTime("%H:%M:%S UTC", absl::FromUnixNanos(fleet.taken_at_ns), absl::UTCTimeZone());
  return absl::StrFormat("%s: %d of %d servers, %d vehicles, %s scans/s, %s accepted", time,
                         totals.answering_servers, fleet.servers.size(), totals.vehicles,
                         FleetRate(totals.recent), FleetPercent(totals.recent));
}

TextTable ServerTable(const FleetState& fleet) {
  TextTable table("server|state|engine|version|>vehicles|>scans/s|>accepted|>up");
  for (const FleetServer& server : fleet.servers) {
    if (!server.status.ok()) {
      table.AddRow({server.address, "no answer"});
      continue;
    }
    FleetScans recent;
    for (const FleetVehicle& vehicle : server.vehicles) recent.Add(vehicle.recent);
    const bool known = server.sessions_status.ok();
    table.AddRow({server.address, EnumWordOf(server.info.state()), server.info.engine(),
                  server.info.version(), known ? absl::StrCat(server.vehicles.size()) : "-",
                  known ? FleetRate(recent) : "-", known ? FleetPercent(recent) : "-",
                  DurationText(UptimeOf(server.info))});
  }
  return table;
}

// The revisions of a map that matter now: in use by a vehicle, active or staged. Those in use that
// the server does not list come last, without a state.
std::vector<v1::MapRevision> PresentRevisions(const FleetMap& map,
                                              std::map<uint64_t, FleetRevisionUse> uses) {
  std::vector<v1::MapRevision> present;
  for (const v1::MapRevision& revision : map.revisions) {
    const bool used = uses.erase(revision.revision()) > 0;
    if (used || revision.state() == v1::REVISION_STATE_ACTIVE ||
        revision.state() == v1::REVISION_STATE_STAGED) {
      present.push_back(revision);
    }
  }
  for (const auto& entry : uses) present.emplace_back().set_revision(entry.first);
  return present;
}

using MapOfServer = std::pair<const FleetServer*, const FleetMap*>;

// By name.
std::vector<MapOfServer> MapsInOrder(const FleetState& fleet) {
  std::vector<MapOfServer> maps;
  for (const FleetServer& server : fleet.servers) {
    for (const FleetMap& map : server.maps) maps.emplace_back(&server, &map);
  }
  std::stable_sort(maps.begin(), maps.end(), [](const auto& a, const auto& b) {
    return a.second->info.name() < b.second->info.name();
  });
  return maps;
}

TextTable RevisionUseTable(const FleetState& fleet) {
  TextTable table("map|server|>revision|state|>vehicles|>scans/s|>accepted");
  for (const auto& [server, map] : MapsInOrder(fleet)) {
    std::map<uint64_t, FleetRevisionUse> uses = RevisionUses(*server, map->info.name());
    for (const v1::MapRevision& revision : PresentRevisions(*map, uses)) {
      const FleetRevisionUse& use = uses[revision.revision()];
      const bool kept = revision.state() != v1::REVISION_STATE_UNSPECIFIED;
      // "3", or "1 of 2" where two vehicles are named to try the revision.
      const int named = revision.canary_vehicles_size();
      const std::string vehicles =
          named == 0 ? absl::StrCat(use.vehicles) : absl::StrCat(use.vehicles, " of ", named);
      table.AddRow({map->info.name(), server->address, absl::StrCat(revision.revision()),
                    kept ? EnumWordOf(revision.state()) : "not kept",
                    server->sessions_status.ok() ? vehicles : "-", FleetRate(use.recent),
                    FleetPercent(use.recent)});
    }
  }
  return table;
}

// Two rows a trial; empty where there is none.
std::string TrialText(const FleetState& fleet, size_t max_columns) {
  TextTable table(
      "map|server|>tried|answers|>vehicles|>scans|>accepted|>score|>innovation|>explained|>"
      "through");
  bool any = false;
  for (const auto& [server, map] : MapsInOrder(fleet)) {
    for (const RevisionTrial& trial : TrialsOf(*server, *map)) {
      any = true;
      for (const bool before : {true, false}) {
        std::vector<std::string> cells = {map->info.name(), server->address,
                                          absl::StrCat(trial.revision), before ? "before" : "on it",
                                          absl::StrCat(trial.vehicles)};
        for (std::string& cell : TrialCells(before ? trial.before : trial.after)) {
          cells.push_back(std::move(cell));
        }
        table.AddRow(std::move(cells));
      }
    }
  }
  return any ? absl::StrCat("\n", table.Text(max_columns)) : "";
}

using VehicleOfServer = std::pair<const FleetServer*, const FleetVehicle*>;

// Those that need attention first, then by name.
std::vector<VehicleOfServer> VehiclesInOrder(const FleetState& fleet) {
  std::vector<VehicleOfServer> vehicles;
  for (const FleetServer& server : fleet.servers) {
    for (const FleetVehicle& vehicle : server.vehicles) vehicles.emplace_back(&server, &vehicle);
  }
  const auto key = [](const VehicleOfServer& one) {
    const FleetVehicle& vehicle = *one.second;
    const bool attention = NeedsAttention(vehicle);
    return std::make_tuple(!attention,
                           attention ? vehicle.recent.accepted_ratio().value_or(0.0) : 1.0,
                           vehicle.session.vehicle());
  };
  std::stable_sort(vehicles.begin(), vehicles.end(),
                   [&key](const auto& a, const auto& b) { return key(a) < key(b); });
  return vehicles;
}

TextTable VehicleTable(const std::vector<VehicleOfServer>& vehicles, size_t most) {
  TextTable table("vehicle|server|map|>revision|>scans/s|>accepted|verdict|>ago");
  for (size_t i = 0; i < std::min(most, vehicles.size()); ++i) {
    const FleetVehicle& vehicle = *vehicles[i].second;
    const v1::SessionInfo& session = vehicle.session;
    const bool answered = vehicle.silent_s.has_value();
    table.AddRow({session.vehicle().empty() ? session.session() : session.vehicle(),
                  vehicles[i].first->address, session.map(),
                  session.map_revision() == 0 ? "-" : absl::StrCat(session.map_revision()),
                  FleetRate(vehicle.recent), FleetPercent(vehicle.recent),
                  answered ? client::StatusName(session.status()) : "-",
                  answered ? DurationText(*vehicle.silent_s) : "-"});
  }
  return table;
}

struct FleetTile {
  const FleetServer* server;
  const FleetMap* map;
  const v1::TileInfo* tile;
};

// The worst first.
std::vector<FleetTile> TilesInOrder(const FleetState& fleet) {
  std::vector<FleetTile> tiles;
  for (const FleetServer& server : fleet.servers) {
    for (const FleetMap& map : server.maps) {
      for (const v1::TileInfo& tile : map.worst_tiles) tiles.push_back({&server, &map, &tile});
    }
  }
  std::stable_sort(tiles.begin(), tiles.end(), [](const FleetTile& a, const FleetTile& b) {
    return a.tile->fit().change() > b.tile->fit().change();
  });
  return tiles;
}

TextTable WorstTileTable(const std::vector<FleetTile>& tiles, size_t most) {
  TextTable table("tile|map|server|>change|>through|>unexplained|>residual|>scans");
  for (size_t i = 0; i < std::min(most, tiles.size()); ++i) {
    const auto& [server, map, tile] = tiles[i];
    std::vector<std::string> cells = {tile->tile_id(), map->info.name(), server->address};
    AppendFitCells(*tile, cells);
    cells.pop_back();  // when a scan was last compared
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string MoreText(size_t all, size_t most, const std::string& what) {
  return all > most ? absl::StrCat("and ", all - most, " more ", what, "\n") : "";
}

}  // namespace

void FleetScans::Add(const FleetScans& more) {
  answered += more.answered;
  accepted += more.accepted;
  rate_per_s += more.rate_per_s;
}

std::optional<double> FleetScans::accepted_ratio() const {
  if (answered == 0) return std::nullopt;
  return static_cast<double>(accepted) / static_cast<double>(answered);
}

FleetTotals TotalsOf(const FleetState& fleet) {
  FleetTotals totals;
  for (const FleetServer& server : fleet.servers) {
    if (server.status.ok()) ++totals.answering_servers;
    totals.vehicles += server.vehicles.size();
    for (const FleetVehicle& vehicle : server.vehicles) totals.recent.Add(vehicle.recent);
  }
  return totals;
}

std::vector<absl::Status> FleetErrors(const FleetState& fleet) {
  std::vector<absl::Status> errors;
  const auto add = [&errors](const absl::Status& status) {
    if (!status.ok()) errors.push_back(status);
  };
  for (const FleetServer& server : fleet.servers) {
    add(server.status);
    add(server.sessions_status);
    add(server.maps_status);
    for (const FleetMap& map : server.maps) {
      add(map.revisions_status);
      add(map.tiles_status);
    }
  }
  return errors;
}

RevisionTrial TrialOnAll(const FleetState& fleet, const std::string& map, uint64_t revision) {
  std::vector<const v1::SessionInfo*> sessions;
  for (const FleetServer& server : fleet.servers) {
    const auto of_server = SessionsOn(server, map);
    sessions.insert(sessions.end(), of_server.begin(), of_server.end());
  }
  return TrialOf(revision, sessions);
}

Json FleetJson(const FleetState& fleet) {
  const FleetTotals totals = TotalsOf(fleet);
  Json json = {{"taken_at_ns", fleet.taken_at_ns},
               {"answering_servers", totals.answering_servers},
               {"vehicles", totals.vehicles}};
  AppendScans(totals.recent, json);
  json["errors"] = ListJson(FleetErrors(fleet), &ErrorJson);
  json["servers"] = ListJson(fleet.servers, &ServerJson);
  return json;
}

Json FleetTilesJson(const FleetState& fleet) {
  constexpr size_t kMaxTiles = 20'000;
  const auto rounded = [](double metres) { return std::round(10.0 * metres) / 10.0; };
  Json maps = Json::array();
  for (const FleetServer& server : fleet.servers) {
    for (const FleetMap& map : server.maps) {
      if (map.tiles == nullptr) continue;
      Json tiles = Json::array();
      for (const v1::TileInfo& tile : map.tiles->tiles()) {
        if (!tile.has_bounds() || tiles.size() >= kMaxTiles) continue;
        const v1::Box& box = tile.bounds();
        tiles.push_back({rounded(box.min().x()), rounded(box.min().y()), rounded(box.max().x()),
                         rounded(box.max().y()),
                         tile.has_fit() ? Json(tile.fit().change()) : Json(nullptr)});
      }
      maps.push_back({{"server", server.address},
                      {"name", map.info.name()},
                      {"tiles_of", map.tiles->tiles_size()},
                      {"tiles", std::move(tiles)}});
    }
  }
  return maps;
}

std::string FleetText(const FleetState& fleet, const FleetTextOptions& options) {
  const size_t columns = options.max_columns;
  const auto line = [columns](const std::string& text) {
    const std::string safe = EscapeForTerminal(text);
    return (columns > 0 ? TruncateToColumns(safe, columns) : safe) + "\n";
  };
  std::string text = line(TotalsText(fleet));
  for (const absl::Status& error : FleetErrors(fleet)) {
    text += line(absl::StrCat("error: ", error.message()));
  }
  absl::StrAppend(&text, "\n", ServerTable(fleet).Text(columns));
  if (std::any_of(fleet.servers.begin(), fleet.servers.end(),
                  [](const FleetServer& server) { return !server.maps.empty(); })) {
    absl::StrAppend(&text, "\n", RevisionUseTable(fleet).Text(columns), TrialText(fleet, columns));
  }
  const std::vector<VehicleOfServer> vehicles = VehiclesInOrder(fleet);
  if (!vehicles.empty()) {
    absl::StrAppend(&text, "\n", VehicleTable(vehicles, options.max_rows).Text(columns),
                    MoreText(vehicles.size(), options.max_rows, "vehicles"));
  }
  const std::vector<FleetTile> tiles = TilesInOrder(fleet);
  if (!tiles.empty()) {
    absl::StrAppend(&text, "\n", WorstTileTable(tiles, options.max_rows).Text(columns),
                    MoreText(tiles.size(), options.max_rows, "tiles"));
  }
  return text;
}

std::string FirstLines(const std::string& text, size_t max_lines) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.size() <= max_lines || max_lines == 0) return text;
  std::string first;
  for (size_t i = 0; i + 1 < max_lines; ++i) absl::StrAppend(&first, lines[i], "\n");
  return absl::StrCat(first, "and ", lines.size() - max_lines + 1, " more lines\n");
}

}  // namespace voxloc::cli
