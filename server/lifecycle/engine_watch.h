// SPDX-License-Identifier: Apache-2.0
//
// EngineWatch: logs when the engine fails or works again; on a takeover by another engine, logs and
// counts it and calls `on_takeover`. On the thread of a TimeoutWatch.

#ifndef VOXLOC_SERVER_LIFECYCLE_ENGINE_WATCH_H_
#define VOXLOC_SERVER_LIFECYCLE_ENGINE_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/engine/failover/failover_engine.h"
#include "server/maps/map_library.h"
#include "server/maps/residency/residency.h"
#include "server/maps/resident_maps.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class EngineWatch : public TimeoutWatch::Watched {
 public:
  // Both must outlive this. The engine is assumed healthy at first. `on_takeover` is called once
  // per takeover, and must be short.
  EngineWatch(const FailoverEngine& engine, const Metrics& metrics,
              std::function<void()> on_takeover)
      : engine_(engine), metrics_(metrics), on_takeover_(std::move(on_takeover)) {}

  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  const FailoverEngine& engine_;
  const Metrics& metrics_;
  const std::function<void()> on_takeover_;
  bool healthy_ = true;
  uint64_t takeovers_ = 0;
};

// EngineFaults: the errors for clients whose work failed in the engine. Thread-safe. What it refers
// to must outlive it.
struct EngineFaults {
  const FailoverEngine& engine;
  const ResidentMaps& maps;
  const MapLibrary& library;
  Residency& residency;
  const Metrics& metrics;

  // Internal, with the reason ENGINE_FAULT; Unavailable, with the reason ENGINE_REPLACED and a time
  // to try again after, where another engine has taken over, and with ENGINE_LOST once the last one
  // has failed permanently.
  [[nodiscard]] absl::Status Error() const;

  // Whether the engine that this map view was built on has been replaced: calls with it fail.
  [[nodiscard]] bool WasReplaced(const MapView& map) const;

  // Logs and counts a failure, in work for this vehicle or session; returns Error.
  [[nodiscard]] absl::Status Report(const std::string& client, const std::string& map,
                                    const absl::Status& status) const;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_ENGINE_WATCH_H_
