// SPDX-License-Identifier: Apache-2.0
//
// Probes of a server, by gRPC and by HTTP. Expectations inside fail the test.

#ifndef VOXLOC_TESTS_SERVER_LIFECYCLE_HEALTH_CALLS_H_
#define VOXLOC_TESTS_SERVER_LIFECYCLE_HEALTH_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/server/test_server.h"

namespace voxloc::server {

using HealthStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
inline constexpr HealthStatus kHealthServing = grpc::health::v1::HealthCheckResponse::SERVING;
inline constexpr HealthStatus kHealthNotServing =
    grpc::health::v1::HealthCheckResponse::NOT_SERVING;
inline constexpr HealthStatus kHealthUnknown =
    grpc::health::v1::HealthCheckResponse::SERVICE_UNKNOWN;
inline constexpr char kLocalizationName[] = "voxloc.v1.LocalizationService";

// What Check says; kHealthUnknown for NOT_FOUND.
[[nodiscard]] HealthStatus HealthOf(const TestServer& server, const std::string& service);

// A call of Watch. Cancelled at its end.
class HealthWatcher {
 public:
  HealthWatcher(const TestServer& server, const std::string& service);
  HealthWatcher(const HealthWatcher&) = delete;
  HealthWatcher& operator=(const HealthWatcher&) = delete;
  ~HealthWatcher();

  // The next message; UNKNOWN where the call has ended.
  [[nodiscard]] HealthStatus Next();
  [[nodiscard]] grpc::Status Finish() { return reader_->Finish(); }

 private:
  std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<grpc::health::v1::HealthCheckResponse>> reader_;
};

// What GetServerInfo says.
[[nodiscard]] v1::ServerState StateOf(TestServer& server);

// The status line and the body of a page, such as "200 ready\n".
[[nodiscard]] std::string PageOf(TestServer& server, const std::string& path);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_LIFECYCLE_HEALTH_CALLS_H_
