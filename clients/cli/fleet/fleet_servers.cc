// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/fleet_servers.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/output/map_text.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr size_t kMaxFleetServers = 100;

double FleetSeconds(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

absl::StatusOr<std::vector<FleetEndpoint>> FleetEndpoints(const ServerFlags& flags) {
  std::vector<FleetEndpoint> endpoints;
  for (const absl::string_view part : absl::StrSplit(flags.server, ',', absl::SkipWhitespace())) {
    ServerFlags one = flags;
    one.server = std::string(absl::StripAsciiWhitespace(part));
    const bool known =
        std::any_of(endpoints.begin(), endpoints.end(),
                    [&one](const FleetEndpoint& other) { return other.address == one.server; });
    if (known) continue;
    VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, Connect(one));
    endpoints.push_back({one.server, std::move(channel)});
  }
  if (endpoints.empty() || endpoints.size() > kMaxFleetServers) {
    return absl::InvalidArgumentError(absl::StrCat("--server must name 1 to ", kMaxFleetServers,
                                                   " servers (got ", endpoints.size(), ")"));
  }
  return endpoints;
}

FleetPoller::FleetPoller(std::vector<FleetEndpoint> endpoints, FleetQuery query)
    : endpoints_(std::move(endpoints)), query_(std::move(query)), histories_(endpoints_.size()) {}

FleetState FleetPoller::Poll() {
  FleetState fleet;
  fleet.servers.resize(endpoints_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    threads.emplace_back(
        [this, &fleet, i] { fleet.servers[i] = PollServer(endpoints_[i], histories_[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  fleet.taken_at_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  return fleet;
}

FleetServer FleetPoller::PollServer(const FleetEndpoint& endpoint, ServerHistory& history) const {
  FleetServer server;
  server.address = endpoint.address;
  absl::StatusOr<v1::GetServerInfoResponse> info =
      client::GetServerInfo(endpoint.channel, query_.timeout_s);
  if (!info.ok()) {
    server.status = info.status();
    return server;
  }
  server.info = *std::move(info);
  PollVehicles(endpoint, history, server);
  PollMaps(endpoint, history, server);
  return server;
}

void FleetPoller::PollVehicles(const FleetEndpoint& endpoint, ServerHistory& history,
                               FleetServer& server) const {
  absl::StatusOr<std::vector<v1::SessionInfo>> sessions =
      client::ListSessions(endpoint.channel, query_.map, query_.timeout_s);
  if (!sessions.ok()) {
    server.sessions_status = sessions.status();
    return;
  }
  const int64_t now_ns = server.info.now_ns();
  std::map<std::string, Counts> counts;
  for (v1::SessionInfo& session : *sessions) {
    FleetVehicle vehicle;
    Counts before{0, 0, session.opened_at_ns()};
    const auto known = history.sessions.find(session.session());
    if (known != history.sessions.end()) before = known->second;
    counts[session.session()] = {session.answered(), session.accepted(), now_ns};
    // Counts never decrease; the minimum guards against an unsigned underflow.
    vehicle.recent.answered = session.answered() - std::min(before.answered, session.answered());
    vehicle.recent.accepted = session.accepted() - std::min(before.accepted, session.accepted());
    const double interval_s = FleetSeconds(before.at_ns, now_ns);
    if (interval_s > 0.0) {
      vehicle.recent.rate_per_s = static_cast<double>(vehicle.recent.answered) / interval_s;
    }
    if (session.answered_at_ns() != 0) {
      vehicle.silent_s = std::max(0.0, FleetSeconds(session.answered_at_ns(), now_ns));
    }
    vehicle.session = std::move(session);
    server.vehicles.push_back(std::move(vehicle));
  }
  history.sessions = std::move(counts);
}

void FleetPoller::PollMaps(const FleetEndpoint& endpoint, ServerHistory& history,
                           FleetServer& server) const {
  const client::MapClient maps(endpoint.channel);
  absl::StatusOr<std::vector<v1::MapInfo>> list = maps.List(query_.timeout_s);
  if (!list.ok()) {
    server.maps_status = list.status();
    return;
  }
  for (v1::MapInfo& info : *list) {
    if (!query_.map.empty() && info.name() != query_.map) continue;
    FleetMap map;
    map.info = std::move(info);
    const std::string& name = map.info.name();
    absl::StatusOr<std::vector<v1::MapRevision>> revisions =
        maps.ListRevisions(name, query_.timeout_s);
    if (revisions.ok()) {
      map.revisions = *std::move(revisions);
    } else if (IsUnreachable(revisions.status())) {
      // Each of the other maps would also run into the timeout.
      server.maps_status = revisions.status();
      server.maps.clear();
      return;
    } else {
      map.revisions_status = revisions.status();
    }
    if (query_.worst_tiles > 0) PollTiles(endpoint, history.tiles[name], map);
    server.maps.push_back(std::move(map));
  }
}

void FleetPoller::PollTiles(const FleetEndpoint& endpoint, Tiles& tiles, FleetMap& map) const {
  const auto now = std::chrono::steady_clock::now();
  const bool known = tiles.asked != std::chrono::steady_clock::time_point();
  if (!known || now - tiles.asked >= query_.tiles_every) {
    v1::ListTilesRequest request;
    request.set_map(map.info.name());
    const absl::StatusOr<v1::ListTilesResponse> all =
        client::MapClient(endpoint.channel).ListTiles(request, query_.timeout_s);
    tiles.asked = now;
    tiles.status = all.status();
    tiles.worst.clear();
    if (all.ok()) tiles.worst = WorstTiles(*all, query_.worst_tiles);
  }
  map.worst_tiles = tiles.worst;
  map.tiles_status = tiles.status;
}

}  // namespace voxloc::cli
