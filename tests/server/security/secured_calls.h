// SPDX-License-Identifier: Apache-2.0
//
// What tests of access share: files of their own, tokens, and any RPC by its name. Expectations
// inside fail the test. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_SERVER_SECURITY_SECURED_CALLS_H_
#define VOXLOC_TESTS_SERVER_SECURITY_SECURED_CALLS_H_

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "server/server.h"
#include "tests/server/plain_calls.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {

// Files that change while others read and write them.
class TestFolder : public ScratchDir {
 public:
  // In one step, as editors and Kubernetes replace files. Returns the path.
  std::string Write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string Read(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> Lines(const std::string& name) const;
  // The same, once there are so many: another thread writes them.
  [[nodiscard]] std::vector<std::string> AwaitLines(const std::string& name, size_t count) const;
};

// What the access file has of a token.
[[nodiscard]] std::string HashOf(const std::string& token);

[[nodiscard]] std::shared_ptr<grpc::Channel> ChannelTo(
    const Server& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                              grpc::InsecureChannelCredentials());

// The value of `authorization` metadata; empty: none.
[[nodiscard]] std::string Bearer(const std::string& token);

// One request of any RPC, such as "voxloc.v1.MapService/GetMap".
[[nodiscard]] Answer CallByName(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& method, const google::protobuf::Message& request,
                                const std::string& authorization);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_SECURITY_SECURED_CALLS_H_
