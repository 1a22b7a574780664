// SPDX-License-Identifier: Apache-2.0
//
// Watches changes of maps. After a lost connection the watch restarts, at once if the channel has
// another address. The first events then describe the current state of the maps, which includes the
// changes that were missed.
//
// Call Next from one thread; Cancel is safe from any thread.

#ifndef VOXLOC_CLIENTS_CPP_MAP_WATCH_H_
#define VOXLOC_CLIENTS_CPP_MAP_WATCH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::client {

class MapWatch {
 public:
  // `map` need not exist yet; empty: all maps. The call begins with the first Next.
  MapWatch(const Channel& channel, const std::string& map, const ReconnectOptions& reconnect = {});
  ~MapWatch();
  MapWatch(const MapWatch&) = delete;
  MapWatch& operator=(const MapWatch&) = delete;

  // Waits for the next event. Cancelled: Cancel was called. Other errors are the server's;
  // Unavailable after too many attempts in a row without an event.
  [[nodiscard]] absl::StatusOr<v1::WatchMapResponse> Next();

  // Ends the watch and unblocks Next.
  void Cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_WATCH_H_
