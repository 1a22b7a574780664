// SPDX-License-Identifier: Apache-2.0
//
// The servers of a fleet, which are looked at all at once, again and again.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_FLEET_SERVERS_H_
#define VOXLOC_CLIENTS_CLI_FLEET_FLEET_SERVERS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

// One of the servers. There is no failover between them.
struct FleetEndpoint {
  std::string address;
  client::Channel channel;
};

// The servers of --server, separated by commas, each once, in their order. InvalidArgument: none,
// or more than 100, each of which takes a thread and a connection; or what Channel::Create says.
[[nodiscard]] absl::StatusOr<std::vector<FleetEndpoint>> FleetEndpoints(const ServerFlags& flags);

struct FleetQuery {
  std::string map;         // only this map and its vehicles; empty: all
  size_t worst_tiles = 5;  // of each map; 0: tiles are not asked for
  double timeout_s = 5.0;  // of each call; 0: no limit
  // The tiles of a map are asked for no more often than this: their fit changes over minutes, and a
  // map may have thousands of them.
  std::chrono::seconds tiles_every{30};
};

// Polls all servers in parallel, with a connection and a thread for each: a failing server delays
// the others by at most the timeout. Not thread-safe.
class FleetPoller {
 public:
  FleetPoller(std::vector<FleetEndpoint> endpoints, FleetQuery query);

  // Waits for all answers. Rates are means since the previous poll, or since the session was opened
  // in the first one.
  [[nodiscard]] FleetState Poll();

 private:
  struct Counts {
    uint64_t answered = 0;
    uint64_t accepted = 0;
    int64_t at_ns = 0;  // by the server's clock
  };
  struct Tiles {
    std::chrono::steady_clock::time_point asked;
    std::vector<v1::TileInfo> worst;
    absl::Status status;
  };
  // Results of the previous polls of a server.
  struct ServerHistory {
    std::map<std::string, Counts> sessions;
    std::map<std::string, Tiles> tiles;  // by map
  };

  [[nodiscard]] FleetServer PollServer(const FleetEndpoint& endpoint, ServerHistory& history) const;
  void PollVehicles(const FleetEndpoint& endpoint, ServerHistory& history,
                    FleetServer& server) const;
  void PollMaps(const FleetEndpoint& endpoint, ServerHistory& history, FleetServer& server) const;
  void PollTiles(const FleetEndpoint& endpoint, Tiles& tiles, FleetMap& map) const;

  const std::vector<FleetEndpoint> endpoints_;
  const FleetQuery query_;
  std::vector<ServerHistory> histories_;  // of each endpoint
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_SERVERS_H_
