// SPDX-License-Identifier: Apache-2.0
//
// What the metrics show of the server's life. A plain value.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SERVER_SAMPLE_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SERVER_SAMPLE_H_

#include <cstdint>
#include <functional>

#include "server/observe/server_life.h"

namespace voxloc::server {

struct ServerSample {
  ServerState state = ServerState::kStarting;
  bool ready = false;
  uint64_t sessions_told = 0;      // to leave, since the start
  double drain_remaining_s = 0.0;  // until the remaining streams are ended; 0: no drain, or over
};

// The server now. Called from any thread.
using SampleServer = std::function<ServerSample()>;

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SERVER_SAMPLE_H_
