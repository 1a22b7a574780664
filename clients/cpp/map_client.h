// SPDX-License-Identifier: Apache-2.0
//
// Maps: listing, describing and deleting them. map_transaction.h changes them. Thread-safe; every
// call blocks until the answer or its deadline, `timeout_s` from now (0: none). Errors are the
// server's, with its name and the call in the message.

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

  // The last revision that the map had. NotFound: no such map. Aborted: not at `revision` (0: any).
  [[nodiscard]] absl::StatusOr<uint64_t> Drop(const std::string& map, uint64_t revision,
                                              double timeout_s) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_CLIENT_H_
