// SPDX-License-Identifier: Apache-2.0
//
// Runtime: the parts of a running server, as its RPCs see them. Built and owned by Server; every
// RPC ends before it does. The parts are thread-safe.

#ifndef VOXLOC_SERVER_RUNTIME_H_
#define VOXLOC_SERVER_RUNTIME_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/failover/failover_engine.h"
#include "core/estimate/global_search/global_search.h"
#include "core/parallel/thread_pool.h"
#include "server/capture/capture_recorder.h"
#include "server/capture/map_update_recorder.h"
#include "server/config/config.h"
#include "server/config/host_resources.h"
#include "server/config/settings.h"
#include "server/engines/engine_choice.h"
#include "server/lifecycle/active_calls.h"
#include "server/lifecycle/drain.h"
#include "server/lifecycle/engine_watch.h"
#include "server/lifecycle/readiness.h"
#include "server/maps/fit/tile_fits.h"
#include "server/maps/last_poses.h"
#include "server/maps/map_library.h"
#include "server/maps/moments/moments_cache.h"
#include "server/maps/residency/places_in_use.h"
#include "server/maps/residency/residency.h"
#include "server/maps/residency/residency_check.h"
#include "server/maps/resident_maps.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/server_lifecycle.h"
#include "server/observe/trace/span_exporter.h"
#include "server/scheduling/limits.h"
#include "server/scheduling/scheduler.h"
#include "server/scheduling/timeout_watch.h"
#include "server/scheduling/work_queue.h"
#include "server/security/access_control.h"
#include "server/security/audit_log.h"
#include "server/session/session_registry.h"

namespace voxloc::server {

struct Runtime {
  // `config`: with its defaults resolved (ResolveDefaults).
  Runtime(const EffectiveConfig& config, const HostResources& host, EngineChoice choice,
          std::unique_ptr<MapStore> map_store);

  // Puts the values that can be reloaded into effect: those that requests read (`live`), and those
  // that parts keep.
  void Reload(EffectiveConfig config);

  const Config config;     // as at the start: what is not Setting::reloadable
  LiveConfig live_config;  // as it is now; requests read their limits here
  const HostResources host;
  const int64_t started_unix_ns;
  ServerLifecycle lifecycle;
  const std::unique_ptr<FailoverEngine> engine;
  const std::vector<uint32_t> engine_devices;  // its GPUs, in its order
  const std::string engine_note;               // why it is not what was asked for; empty: it is
  ThreadPool host_threads;                     // for what the engine does not do
  Metrics metrics;
  const std::unique_ptr<SpanExporter> spans;  // null: spans are not exported
  CaptureRecorder captures;                   // of scans that went badly
  ActiveCalls calls;

  const std::shared_ptr<AccessControl> access;
  AuditLog audit;

  TimeoutWatch timeouts;                  // must never block: liveness means that it runs
  TimeoutWatch file_watch{"file watch"};  // reads files that have changed; their disk may hang
  ByteBudget reply_bytes;

  Admission unopened_streams;  // of AlignScans, without `open`
  Admission searches;
  Admission recoveries;
  Admission scoring_streams;
  Admission transactions;    // of maps
  Admission watchers;        // of maps
  Admission map_readers;     // GetTiles and GetCells
  ByteQuota map_read_bytes;  // what they hold

  const std::unique_ptr<MapStore> map_store;
  std::atomic<uint64_t> max_map_memory_bytes;   // of the engine that serves
  const std::unique_ptr<MomentsCache> moments;  // null: there is none

  // In the order of their dependencies: the last is destroyed first.
  WorkQueue mapping;
  WorkQueue reading;  // of maps
  WorkQueue scoring;
  WorkQueue searching;
  ResidentMaps maps;
  MapEvents map_events;
  MapLibrary library;
  LastPoses last_poses;
  PlacesInUse places;
  const std::shared_ptr<Residency> residency;
  ResidencyCheck residency_check;
  const EngineFaults engine_faults;
  TileFits tile_fits;
  FitSampler fit_sampler;
  MapUpdateRecorder map_update;  // keeps accepted scans
  GlobalSearch global_search;
  SessionRegistry sessions;
  Scheduler scheduler;
  const std::shared_ptr<Readiness> readiness;
  Drain drain;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RUNTIME_H_
