// SPDX-License-Identifier: Apache-2.0

#include "tests/server/capture/capture_calls.h"

#include <gtest/gtest.h>

#include "tests/support/eventually.h"

namespace voxloc::server {

void CaptureInto(const std::string& directory, Config& config) {
  config.capture.max_bytes = uint64_t{64} << 20U;
  config.capture.directory = directory;
  config.capture.max_per_second = 1000.0;
}

void RefuseEveryScore(v1::AlignmentOptions& options) {
  options.mutable_gate()->mutable_score_threshold()->set_value(1e6);
}

std::vector<v1::CaptureInfo> CapturesOf(TestServer& server) {
  v1::ListCapturesResponse response;
  const grpc::Status status = server.admin->ListCaptures(TestServer::NewContext().get(),
                                                         v1::ListCapturesRequest(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.captures().begin(), response.captures().end()};
}

std::vector<v1::CaptureInfo> AwaitCaptures(TestServer& server, size_t count) {
  std::vector<v1::CaptureInfo> captures;
  EXPECT_TRUE(Eventually([&] {
    captures = CapturesOf(server);
    return captures.size() >= count;
  })) << captures.size();
  EXPECT_EQ(captures.size(), count);
  return captures;
}

grpc::Status GetCapture(TestServer& server, const std::string& id, v1::Capture* capture) {
  v1::GetCaptureRequest request;
  request.set_id(id);
  v1::GetCaptureResponse response;
  grpc::Status status =
      server.admin->GetCapture(TestServer::NewContext().get(), request, &response);
  if (status.ok()) *capture = response.capture();
  return status;
}

}  // namespace voxloc::server
