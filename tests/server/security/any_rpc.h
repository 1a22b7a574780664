// SPDX-License-Identifier: Apache-2.0
//
// Any RPC of the contract, by its description. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_SERVER_SECURITY_ANY_RPC_H_
#define VOXLOC_TESTS_SERVER_SECURITY_ANY_RPC_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

namespace voxloc::server {

// All that the contract has; Drain, which ends the service to others, last.
[[nodiscard]] std::vector<const google::protobuf::MethodDescriptor*> AllRpcs();

[[nodiscard]] std::string PathOf(const google::protobuf::MethodDescriptor& rpc);

// One that names this map, and this vehicle, where its kind does.
[[nodiscard]] std::unique_ptr<google::protobuf::Message> RequestOf(
    const google::protobuf::MethodDescriptor& rpc, const std::string& map,
    const std::string& vehicle = "");

// UNAUTHENTICATED or PERMISSION_DENIED.
[[nodiscard]] bool IsDenial(const grpc::Status& status);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_SECURITY_ANY_RPC_H_
