// SPDX-License-Identifier: Apache-2.0
//
// What tests of captures share: a server that captures, and calls for what it has captured.
// Expectations inside fail the test.

#ifndef VOXLOC_TESTS_SERVER_CAPTURE_CAPTURE_CALLS_H_
#define VOXLOC_TESTS_SERVER_CAPTURE_CAPTURE_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "tests/server/test_server.h"

namespace voxloc::server {

// Captures into the folder, as many a second as there may be.
void CaptureInto(const std::string& directory, Config& config);

// A threshold that no score is over: every scan that is aligned is LOW_SCORE, with the same pose.
void RefuseEveryScore(v1::AlignmentOptions& options);

[[nodiscard]] std::vector<v1::CaptureInfo> CapturesOf(TestServer& server);

// Waits until there are so many, and returns them, newest first.
[[nodiscard]] std::vector<v1::CaptureInfo> AwaitCaptures(TestServer& server, size_t count);

[[nodiscard]] grpc::Status GetCapture(TestServer& server, const std::string& id,
                                      v1::Capture* capture);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_CAPTURE_CAPTURE_CALLS_H_
