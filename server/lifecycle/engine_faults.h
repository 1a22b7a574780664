// SPDX-License-Identifier: Apache-2.0
//
// EngineFaults: the errors for clients whose work failed in the engine. Thread-safe. What it refers
// to must outlive it.

#ifndef VOXLOC_SERVER_LIFECYCLE_ENGINE_FAULTS_H_
#define VOXLOC_SERVER_LIFECYCLE_ENGINE_FAULTS_H_

#include <string>

#include "absl/status/status.h"
#include "core/engine/failover/failover_engine.h"
#include "server/maps/map_library.h"
#include "server/maps/residency/residency.h"
#include "server/maps/resident_maps.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

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

#endif  // VOXLOC_SERVER_LIFECYCLE_ENGINE_FAULTS_H_
