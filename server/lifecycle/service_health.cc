// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/service_health.h"

#include <utility>

#include "absl/time/time.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

constexpr absl::Duration kWatchPeriod = absl::Milliseconds(100);

// The services, and "" for the process.
constexpr const char* kAllNames[] = {"", "voxloc.v1.LocalizationService", "voxloc.v1.MapService",
                                     "voxloc.v1.AdminService"};
// Those that serve nothing once the engine has failed.
constexpr const char* kNamesThatNeedTheEngine[] = {"", "voxloc.v1.LocalizationService",
                                                   "voxloc.v1.MapService"};

grpc::HealthCheckServiceInterface* AllServing(grpc::HealthCheckServiceInterface* service) {
  if (service == nullptr) return nullptr;
  for (const char* name : kAllNames) service->SetServingStatus(name, true);
  return service;
}

}  // namespace

ServiceHealth::ServiceHealth(grpc::HealthCheckServiceInterface* service, const Engine& engine,
                             std::string engine_name)
    : service_(AllServing(service)),
      engine_name_(std::move(engine_name)),
      watch_(engine, kWatchPeriod, [this](const absl::Status& health) { Report(health); }) {}

void ServiceHealth::Shutdown() {
  if (service_ != nullptr) service_->Shutdown();
}

void ServiceHealth::Report(const absl::Status& engine_health) {
  const bool healthy = engine_health.ok();
  Log(healthy ? LogLevel::kInfo : LogLevel::kError, healthy ? "engine_healthy" : "engine_unhealthy",
      {{"engine", engine_name_}, {"error", engine_health.message()}});
  if (service_ == nullptr) return;
  for (const char* name : kNamesThatNeedTheEngine) service_->SetServingStatus(name, healthy);
}

}  // namespace voxloc::server
