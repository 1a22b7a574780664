// SPDX-License-Identifier: Apache-2.0
//
// ServiceHealth: what grpc.health.v1 reports, per service and for the process (""). All are SERVING
// from the start; those that need the engine follow its health, which is watched from a thread of
// its own. gRPC's service and the engine must outlive it. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_SERVICE_HEALTH_H_
#define VOXLOC_SERVER_LIFECYCLE_SERVICE_HEALTH_H_

#include <grpcpp/health_check_service_interface.h>

#include <string>

#include "absl/status/status.h"
#include "core/engine/engine.h"
#include "server/lifecycle/health_watch.h"

namespace voxloc::server {

class ServiceHealth {
 public:
  // `service` is null where gRPC has no health service: changes are logged only.
  ServiceHealth(grpc::HealthCheckServiceInterface* service, const Engine& engine,
                std::string engine_name);

  // Reports NOT_SERVING for everything, whatever the engine does from then on.
  void Shutdown();

 private:
  void Report(const absl::Status& engine_health);

  grpc::HealthCheckServiceInterface* const service_;
  const std::string engine_name_;
  HealthWatch watch_;  // the last: its thread uses the others
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_SERVICE_HEALTH_H_
