// SPDX-License-Identifier: Apache-2.0
//
// What the server counts of its engine; EngineCollector asks the engine itself. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_ENGINE_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_ENGINE_METRICS_H_

#include <string>
#include <vector>

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

// The stages of a launch on one GPU.
struct DeviceStages {
  Histogram upload_s;
  Histogram kernel_s;
  Histogram download_s;
};

struct EngineGroup {
  // `devices`: the names of the engine's GPUs, in the order of EngineInfo::parts.
  EngineGroup(const Registrar& make, const std::vector<std::string>& devices);

  Gauge engine_fallback;                    // 1: the engine is not what was asked for
  Counter engine_takeovers;                 // by an engine that stood by
  Counter engine_faults;                    // calls that failed, of an engine that still computes
  Counter engine_lost;                      // calls of an engine that has failed permanently
  Counter engine_no_memory;                 // calls that found too little memory
  std::vector<DeviceStages> device_stages;  // of each GPU
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_ENGINE_METRICS_H_
