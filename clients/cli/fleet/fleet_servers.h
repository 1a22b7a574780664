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

// One of the servers, each on its own: none stands in for another.
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

// Asks all servers at once. Each server has a connection and, during a look, a thread of its own:
// what is wrong with one keeps nothing of the others back but time, at most the timeout. For one
// thread.
class FleetPoller {
 public:
  FleetPoller(std::vector<FleetEndpoint> endpoints, FleetQuery query);

  // Waits for all answers. The first look's rates are means since each session was opened, later
  // ones since the look before.
  [[nodiscard]] FleetState Look();

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
  // What is known of a server from earlier looks.
  struct Memory {
    std::map<std::string, Counts> sessions;
    std::map<std::string, Tiles> tiles;  // by map
  };

  [[nodiscard]] FleetServer LookAt(const FleetEndpoint& endpoint, Memory& memory) const;
  void LookAtVehicles(const FleetEndpoint& endpoint, Memory& memory, FleetServer& server) const;
  void LookAtMaps(const FleetEndpoint& endpoint, Memory& memory, FleetServer& server) const;
  void LookAtTiles(const FleetEndpoint& endpoint, Tiles& tiles, FleetMap& map) const;

  const std::vector<FleetEndpoint> endpoints_;
  const FleetQuery query_;
  std::vector<Memory> memories_;  // of each endpoint
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_SERVERS_H_
