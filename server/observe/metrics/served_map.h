// SPDX-License-Identifier: Apache-2.0
//
// What the metrics show of each map. A plain value.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SERVED_MAP_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SERVED_MAP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace voxloc::server {

struct ServedMap {
  std::string name;
  uint64_t revision = 0;  // the active one
  int64_t committed_unix_ns = 0;
};

// The maps that have an active revision. Called from any thread.
using ListServedMaps = std::function<std::vector<ServedMap>()>;

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SERVED_MAP_H_
