// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/fleet_state.h"

#include <map>

#include "clients/cli/output/map_text.h"
#include "clients/cli/output/message_json.h"

namespace voxloc::cli {
namespace {

// Below this share of accepted answers a vehicle needs attention.
constexpr double kWellTrackedRatio = 0.99;

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
  for (const FleetRevisionUse& use : RevisionUses(server, map.info.name())) {
    Json entry = {{"revision", use.revision}, {"vehicles", use.vehicles}};
    AppendScans(use.recent, entry);
    json["in_use"].push_back(std::move(entry));
  }
  json["tiles_error"] = ErrorJson(map.tiles_status);
  json["worst_tiles"] = MessagesJson(map.worst_tiles);
  return json;
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
  json["uptime_s"] = static_cast<double>(info.now_ns() - info.started_at_ns()) * 1e-9;
  json["sessions_error"] = ErrorJson(server.sessions_status);
  json["vehicles"] = Json::array();
  for (const FleetVehicle& vehicle : server.vehicles) {
    json["vehicles"].push_back(VehicleJson(vehicle));
  }
  json["maps_error"] = ErrorJson(server.maps_status);
  json["maps"] = Json::array();
  for (const FleetMap& map : server.maps) json["maps"].push_back(FleetMapJson(server, map));
  return json;
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

std::vector<FleetRevisionUse> RevisionUses(const FleetServer& server, const std::string& map) {
  std::map<uint64_t, FleetRevisionUse> uses;
  for (const FleetVehicle& vehicle : server.vehicles) {
    const uint64_t revision = vehicle.session.map_revision();
    if (vehicle.session.map() != map || revision == 0) continue;
    FleetRevisionUse& use = uses[revision];
    use.revision = revision;
    ++use.vehicles;
    use.recent.Add(vehicle.recent);
  }
  std::vector<FleetRevisionUse> list;
  for (const auto& entry : uses) list.push_back(entry.second);
  return list;
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

bool NeedsAttention(const FleetVehicle& vehicle) {
  if (vehicle.recent.accepted_ratio().value_or(1.0) < kWellTrackedRatio) return true;
  const v1::AlignmentStatus status = vehicle.session.status();
  return status != v1::ALIGNMENT_STATUS_UNSPECIFIED && status != v1::ALIGNMENT_STATUS_OK &&
         status != v1::ALIGNMENT_STATUS_DEGENERATE;
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

Json FleetJson(const FleetState& fleet) {
  const FleetTotals totals = TotalsOf(fleet);
  Json json = {{"taken_at_ns", fleet.taken_at_ns},
               {"answering_servers", totals.answering_servers},
               {"vehicles", totals.vehicles}};
  AppendScans(totals.recent, json);
  json["errors"] = Json::array();
  for (const absl::Status& error : FleetErrors(fleet)) json["errors"].push_back(ErrorJson(error));
  json["servers"] = Json::array();
  for (const FleetServer& server : fleet.servers) json["servers"].push_back(ServerJson(server));
  return json;
}

}  // namespace voxloc::cli
