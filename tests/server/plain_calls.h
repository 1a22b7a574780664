// SPDX-License-Identifier: Apache-2.0
//
// Calls of a server that need no stubs: health, reflection, metrics. Expectations inside fail the
// test. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_SERVER_PLAIN_CALLS_H_
#define VOXLOC_TESTS_SERVER_PLAIN_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "tests/server/test_server.h"

namespace voxloc::server {

// Messages of any RPC, as raw bytes, by the method's name, to the end of the call.
struct Answer {
  grpc::Status status;
  std::vector<std::string> messages;
};
[[nodiscard]] Answer CallWithMessages(const std::shared_ptr<grpc::Channel>& channel,
                                      const std::string& method,
                                      const std::vector<std::string>& requests,
                                      const std::string& authorization = "");
// The same in a call of this context; `cancels`: it is cancelled when they are sent.
[[nodiscard]] Answer CallWithMessages(const std::shared_ptr<grpc::Channel>& channel,
                                      const std::string& method,
                                      const std::vector<std::string>& requests,
                                      grpc::ClientContext& context, bool cancels);
// The same with one message.
[[nodiscard]] Answer CallWithBytes(const std::shared_ptr<grpc::Channel>& channel,
                                   const std::string& method, const std::string& request,
                                   const std::string& authorization = "");

// The same where one message comes back.
grpc::Status CallRaw(TestServer& server, const std::string& method, const std::string& request,
                     std::string* response);

// The google.rpc.ErrorInfo of an error, and its reason. Empty: it has none.
[[nodiscard]] google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status);
[[nodiscard]] inline std::string ReasonOf(const grpc::Status& status) {
  return ErrorInfoOf(status).reason();
}

[[nodiscard]] std::string HttpGet(const std::string& address, const std::string& path);

// What GET /metrics of a server gives now, see ParseMetrics.
[[nodiscard]] std::map<std::string, double> MetricsOf(TestServer& server);

// Values of an exposition by name and labels, as they stand in the text.
[[nodiscard]] std::map<std::string, double> ParseMetrics(const std::string& text);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_PLAIN_CALLS_H_
