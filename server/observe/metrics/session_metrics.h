// SPDX-License-Identifier: Apache-2.0
//
// The metrics of connections and sessions, of requests refused at limits, and of slow and silent
// clients.
// Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SESSION_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SESSION_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

struct SessionGroup {
  explicit SessionGroup(const Registrar& make);

  Gauge connections;
  Counter connections_over_limit;          // closed at once: connections.max_open are open
  Counter connections_without_descriptor;  // closed at once: the process may open no more files
  Gauge sessions_active;
  Counter rejected_sessions;      // too many, or draining
  Counter rejected_scans;         // the queue was full
  Counter rejected_unopened;      // too many streams without `open`
  Counter rejected_scoring;       // too many scoring streams
  Counter rejected_searches;      // too many searches
  Counter rejected_recoveries;    // too many searches for lost vehicles
  Counter rejected_transactions;  // too many map transactions
  Counter rejected_map_readers;   // too many streams of tiles and cells

  Gauge map_read_bytes;       // of maps, that are held for those streams
  Gauge reply_bytes;          // of replies that wait for their readers
  Counter paused_by_replies;  // streams that are not read from: too many of their replies wait
  Counter paused_by_bytes;    // the same: the replies of all streams have too many bytes
  Counter timed_out_open;     // streams that were ended: their first message did not come
  Counter timed_out_idle;     // their clients sent nothing
  Counter timed_out_replies;  // their clients took no reply
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SESSION_METRICS_H_
