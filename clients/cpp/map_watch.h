// SPDX-License-Identifier: Apache-2.0
//
// Changes of maps, as they happen. Where the connection breaks, the watch begins anew, at once with
// the next address of the channel where there is one; the first events then tell the maps as they
// are, and what happened in between is in them.
//
// Next is for one thread; Cancel may be called by any.

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

  // Ends the watch, and a Next that waits.
  void Cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_WATCH_H_
