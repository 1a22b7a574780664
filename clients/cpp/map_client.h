// SPDX-License-Identifier: Apache-2.0
//
// Maps: listing, describing and deleting them, and listing their tiles. map_transaction.h changes
// them. Thread-safe; every call blocks until the answer or its deadline, `timeout_s` from now (0:
// none). Errors are the server's, with its name and the call in the message.

#ifndef VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_
#define VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::client {

class MapClient {
 public:
  explicit MapClient(const Channel& channel);
  ~MapClient();

  // All maps by name, page after page.
  [[nodiscard]] absl::StatusOr<std::vector<v1::MapInfo>> List(double timeout_s) const;

  // NotFound: no such map.
  [[nodiscard]] absl::StatusOr<v1::MapInfo> Get(const std::string& map, double timeout_s) const;

  // The tiles of a map, those that touch `region` where it is set, page after page in one answer.
  // `request` has map and region; its page size and token are not used. Aborted: the map changed in
  // the meantime.
  [[nodiscard]] absl::StatusOr<v1::ListTilesResponse> ListTiles(const v1::ListTilesRequest& request,
                                                                double timeout_s) const;

  // The last revision that the map had. NotFound: no such map. Aborted: not at `revision` (0: any).
  [[nodiscard]] absl::StatusOr<uint64_t> Drop(const std::string& map, uint64_t revision,
                                              double timeout_s) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_
