// SPDX-License-Identifier: Apache-2.0

#include "tests/server/lifecycle/health_calls.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/server/plain_calls.h"

namespace voxloc::server {

HealthStatus HealthOf(const TestServer& server, const std::string& service) {
  const auto stub = grpc::health::v1::Health::NewStub(server.NewChannel());
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = stub->Check(TestServer::NewContext().get(), request, &response);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return kHealthUnknown;
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.status();
}

HealthWatcher::HealthWatcher(const TestServer& server, const std::string& service)
    : stub_(grpc::health::v1::Health::NewStub(server.NewChannel())),
      context_(TestServer::NewContext()) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  reader_ = stub_->Watch(context_.get(), request);
}

HealthWatcher::~HealthWatcher() { context_->TryCancel(); }

HealthStatus HealthWatcher::Next() {
  grpc::health::v1::HealthCheckResponse response;
  return reader_->Read(&response) ? response.status()
                                  : grpc::health::v1::HealthCheckResponse::UNKNOWN;
}

v1::ServerState StateOf(TestServer& server) { return ServerInfoOf(server).state(); }

std::string PageOf(TestServer& server, const std::string& path) {
  const std::string text = HttpGet(server.server().metrics_address(), path);
  const size_t body = text.find("\r\n\r\n");
  if (text.size() < 12 || body == std::string::npos) return text;
  return absl::StrCat(text.substr(9, 3), " ", text.substr(body + 4));
}

}  // namespace voxloc::server
