// SPDX-License-Identifier: Apache-2.0
//
// The parts of the server that work on scans depends on. They outlive it and are thread-safe.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_PARTS_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_PARTS_H_

#include "core/engine/failover/failover_engine.h"
#include "server/capture/capture_recorder.h"
#include "server/config/live_config.h"
#include "server/lifecycle/engine_watch.h"
#include "server/maps/fit/fit_sampler.h"
#include "server/maps/last_poses.h"
#include "server/maps/residency/residency_check.h"
#include "server/maps/resident_maps.h"
#include "server/observe/metrics/metrics.h"
#include "server/observe/trace/span_exporter.h"
#include "server/scheduling/limits.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

struct WorkParts {
  FailoverEngine& engine;
  const EngineFaults& engine_faults;
  const ResidentMaps& maps;
  ResidencyCheck& residency_check;
  const LiveConfig& live_config;
  const Metrics& metrics;
};

// Of scans that are tracked.
struct ScanParts : WorkParts {
  LastPoses& last_poses;
  FitSampler& fit_sampler;
  Admission& recoveries;
  WorkQueue& searching;  // runs recoveries
  CaptureRecorder& captures;
  SpanExporter* spans;  // null: spans are not exported
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_PARTS_H_
