// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/fleet_poller.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr size_t kMaxFleetServers = 100;

// Sessions are asked for with every poll; maps change by people, and each costs a call.
constexpr std::chrono::seconds kMapsInterval{2};

// The tiles of a map are asked for no more often than this: their fit changes over minutes, and a
// map may have thousands of them.
constexpr std::chrono::seconds kTilesInterval{30};

double FleetSeconds(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
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

class ServerPoller::Impl {
 public:
  Impl(const FleetPollOptions& options, FleetEndpoint endpoint)
      : options_(options), endpoint_(std::move(endpoint)) {}

  [[nodiscard]] const std::string& address() const { return endpoint_.address; }

  FleetServer Poll() {
    FleetServer server;
    server.address = endpoint_.address;
    absl::StatusOr<v1::GetServerInfoResponse> info =
        client::GetServerInfo(endpoint_.channel, options_.timeout_s);
    server.status = info.status();
    if (!info.ok()) return server;
    server.info = *std::move(info);
    server.sessions_status = PollVehicles(server);
    const auto now = std::chrono::steady_clock::now();
    if (maps_asked_ == std::chrono::steady_clock::time_point() ||
        now - maps_asked_ >= kMapsInterval) {
      maps_.clear();
      maps_status_ = PollMaps();
      maps_asked_ = now;
    }
    server.maps = maps_;
    server.maps_status = maps_status_;
    return server;
  }

 private:
  struct Counts {
    uint64_t answered = 0;
    uint64_t accepted = 0;
    int64_t at_ns = 0;  // by the server's clock
  };
  struct Tiles {
    std::chrono::steady_clock::time_point asked;
    std::vector<v1::TileInfo> worst;
    std::shared_ptr<const v1::ListTilesResponse> all;
    absl::Status status;
  };

  absl::Status PollVehicles(FleetServer& server) {
    VOXLOC_ASSIGN_OR_RETURN(
        std::vector<v1::SessionInfo> sessions,
        client::ListSessions(endpoint_.channel, options_.map, options_.timeout_s));
    const int64_t now_ns = server.info.now_ns();
    std::map<std::string, Counts> counts;
    for (v1::SessionInfo& session : sessions) {
      FleetVehicle& vehicle = server.vehicles.emplace_back();
      Counts before{0, 0, session.opened_at_ns()};
      const auto known = sessions_.find(session.session());
      if (known != sessions_.end()) before = known->second;
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
    }
    sessions_ = std::move(counts);
    return absl::OkStatus();
  }

  absl::Status PollMaps() {
    const client::MapClient maps(endpoint_.channel);
    VOXLOC_ASSIGN_OR_RETURN(std::vector<v1::MapInfo> list, maps.List(options_.timeout_s));
    for (v1::MapInfo& info : list) {
      if (!options_.map.empty() && info.name() != options_.map) continue;
      auto revisions = maps.ListRevisions(info.name(), options_.timeout_s);
      if (ExitCodeFor(revisions.status()) == ExitCode::kUnreachable) {
        // Each of the other maps would also run into the timeout.
        maps_.clear();
        return revisions.status();
      }
      FleetMap& map = maps_.emplace_back();
      map.info = std::move(info);
      map.revisions_status = revisions.status();
      if (revisions.ok()) map.revisions = *std::move(revisions);
      if (options_.worst_tiles > 0) PollTiles(maps, map);
    }
    return absl::OkStatus();
  }

  void PollTiles(const client::MapClient& maps, FleetMap& map) {
    Tiles& tiles = tiles_[map.info.name()];
    const auto now = std::chrono::steady_clock::now();
    const bool known = tiles.asked != std::chrono::steady_clock::time_point();
    if (!known || now - tiles.asked >= kTilesInterval) {
      v1::ListTilesRequest request;
      request.set_map(map.info.name());
      auto all = maps.ListTiles(request, options_.timeout_s);
      tiles.asked = now;
      tiles.status = all.status();
      tiles.worst.clear();
      tiles.all = nullptr;
      if (all.ok()) {
        tiles.worst = WorstTiles(*all, options_.worst_tiles);
        tiles.all = std::make_shared<const v1::ListTilesResponse>(*std::move(all));
      }
    }
    map.worst_tiles = tiles.worst;
    map.tiles = tiles.all;
    map.tiles_status = tiles.status;
  }

  const FleetPollOptions options_;
  const FleetEndpoint endpoint_;
  // From the previous polls.
  std::map<std::string, Counts> sessions_;
  std::map<std::string, Tiles> tiles_;  // by map
  std::vector<FleetMap> maps_;
  absl::Status maps_status_;
  std::chrono::steady_clock::time_point maps_asked_;
};

ServerPoller::ServerPoller(const FleetPollOptions& options, FleetEndpoint endpoint)
    : impl_(std::make_unique<Impl>(options, std::move(endpoint))) {}
ServerPoller::ServerPoller(ServerPoller&&) noexcept = default;
ServerPoller::~ServerPoller() = default;
const std::string& ServerPoller::address() const { return impl_->address(); }
FleetServer ServerPoller::Poll() { return impl_->Poll(); }

std::vector<ServerPoller> MakePollers(const FleetPollOptions& options,
                                      std::vector<FleetEndpoint> endpoints) {
  std::vector<ServerPoller> pollers;
  for (FleetEndpoint& endpoint : endpoints) pollers.emplace_back(options, std::move(endpoint));
  return pollers;
}

FleetState PollFleet(std::vector<ServerPoller>& pollers) {
  FleetState fleet;
  fleet.servers.resize(pollers.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < pollers.size(); ++i) {
    threads.emplace_back([&, i] { fleet.servers[i] = pollers[i].Poll(); });
  }
  for (std::thread& thread : threads) thread.join();
  fleet.taken_at_ns = absl::ToUnixNanos(absl::Now());
  return fleet;
}

FleetWatch::FleetWatch(std::vector<ServerPoller> pollers, absl::Duration interval)
    : pollers_(std::move(pollers)), interval_(interval), servers_(pollers_.size()) {
  for (size_t i = 0; i < pollers_.size(); ++i) {
    servers_[i].address = pollers_[i].address();
    servers_[i].status =
        absl::UnavailableError(absl::StrCat(servers_[i].address, " has not answered yet"));
  }
  for (size_t i = 0; i < pollers_.size(); ++i) threads_.emplace_back([this, i] { Watch(i); });
}

FleetWatch::~FleetWatch() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

FleetState FleetWatch::Newest() const {
  FleetState fleet;
  {
    const absl::MutexLock lock(&mutex_);
    fleet.servers = servers_;
  }
  fleet.taken_at_ns = absl::ToUnixNanos(absl::Now());
  return fleet;
}

void FleetWatch::Watch(size_t server) {
  while (true) {
    const absl::Time next = absl::Now() + interval_;
    FleetServer answer = pollers_[server].Poll();
    const absl::MutexLock lock(&mutex_);
    servers_[server] = std::move(answer);
    mutex_.AwaitWithDeadline(absl::Condition(&stopping_), next);
    if (stopping_) return;
  }
}

}  // namespace voxloc::cli
