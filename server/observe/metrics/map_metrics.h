// SPDX-License-Identifier: Apache-2.0
//
// The metrics of maps, of their store, and of how scans fit them. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_MAP_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_MAP_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

struct MapGroup {
  explicit MapGroup(const Registrar& make);

  Gauge maps;
  Gauge map_tiles;
  Gauge map_points;
  Gauge map_cells;
  Gauge map_bytes_host;  // where the engine that serves keeps maps; the other one is 0
  Gauge map_bytes_device;
  Counter map_commits;
  Histogram map_commit_s;
  Histogram map_load_s;
  Counter map_tiles_damaged;
  Gauge map_tiles_resident;
  Counter map_tiles_loaded;
  Counter map_tiles_evicted;

  Gauge store_connected;        // 1: its database answers
  Counter store_losses;         // of the connection to it
  Gauge store_followed_unix_s;  // when the served maps were last found to be the store's
  Histogram map_follow_s;
  Gauge store_bytes;
  Gauge store_content_bytes;
  Gauge store_unreferenced_bytes;
  Counter moments_hits;      // tiles whose moments the cache had
  Counter moments_misses;    // that it did not have, damaged ones among them
  Counter moments_damaged;   // whose moments were damaged
  Counter moments_not_kept;  // that were built and not written
  Counter moments_evicted;   // that were removed at the limit
  Gauge moments_bytes;

  Counter fit_samples_taken;    // scans that were compared with the tiles of their map
  Counter fit_samples_dropped;  // that were to be, and were not: the queue was full
  Counter fit_samples_failed;   // that could not be
  Counter fit_s;                // time spent on them
  Gauge fit_tiles;              // tiles with a record
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_MAP_METRICS_H_
