// SPDX-License-Identifier: Apache-2.0
//
// The drain: how a server that still serves comes to have no calls.

#ifndef VOXLOC_SERVER_LIFECYCLE_DRAIN_H_
#define VOXLOC_SERVER_LIFECYCLE_DRAIN_H_

#include "server/lifecycle/active_calls.h"
#include "server/lifecycle/service_health.h"
#include "server/session/session_registry.h"

namespace voxloc::server {

struct DrainTimes {
  double delay_s = 0.0;    // after NOT_SERVING, for it to reach clients
  double timeout_s = 0.0;  // then, for open calls to end by themselves
};

// Reports NOT_SERVING, refuses new work and notifies the open sessions, waits for the delay, and
// returns when no call is open or the timeout has passed. Logs its beginning.
void Drain(const DrainTimes& times, ServiceHealth& health, SessionRegistry& sessions,
           ActiveCalls& calls);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_DRAIN_H_
