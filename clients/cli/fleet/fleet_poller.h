// SPDX-License-Identifier: Apache-2.0
//
// Polls the servers of a fleet: PollFleet all at once, for a look; FleetWatch each on its own,
// for what is shown continuously.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_FLEET_POLLER_H_
#define VOXLOC_CLIENTS_CLI_FLEET_FLEET_POLLER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cpp/channel.h"

namespace voxloc::cli {

// One of the servers. There is no failover between them.
struct FleetEndpoint {
  std::string address;
  client::Channel channel;
};

// The servers of --server, separated by commas, each once, in their order. InvalidArgument: none,
// or more than 100, each of which takes a thread and a connection; or what Channel::Create says.
[[nodiscard]] absl::StatusOr<std::vector<FleetEndpoint>> FleetEndpoints(const ServerFlags& flags);

struct FleetPollOptions {
  std::string map;         // only this map and its vehicles; empty: all
  size_t worst_tiles = 5;  // of each map; 0: tiles are not asked for
  double timeout_s = 5.0;  // of each call
};

// Polls one server repeatedly. Rates are means since the previous poll, or since the session was
// opened in the first one. Maps and their revisions are asked for at most every 2 s, tiles at most
// every 30 s. For one thread.
class ServerPoller {
 public:
  ServerPoller(const FleetPollOptions& options, FleetEndpoint endpoint);
  ServerPoller(ServerPoller&&) noexcept;
  ~ServerPoller();

  [[nodiscard]] const std::string& address() const;
  [[nodiscard]] FleetServer Poll();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::vector<ServerPoller> MakePollers(const FleetPollOptions& options,
                                                    std::vector<FleetEndpoint> endpoints);

// Polls all servers in parallel: a failing server delays the others by at most the timeout.
[[nodiscard]] FleetState PollFleet(std::vector<ServerPoller>& pollers);

// Polls each server on a thread of its own, once an interval: a failing server delays no other.
// Thread-safe.
class FleetWatch {
 public:
  FleetWatch(std::vector<ServerPoller> pollers, absl::Duration interval);
  FleetWatch(const FleetWatch&) = delete;
  FleetWatch& operator=(const FleetWatch&) = delete;
  // Waits for calls in flight.
  ~FleetWatch();

  // What each server answered last; one that has not answered yet is Unavailable.
  [[nodiscard]] FleetState Newest() const;

 private:
  void Watch(size_t server);

  std::vector<ServerPoller> pollers_;
  const absl::Duration interval_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<FleetServer> servers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_POLLER_H_
