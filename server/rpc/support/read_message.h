// SPDX-License-Identifier: Apache-2.0
//
// ReadMessage: a message of a client's stream, or bytes that cannot be parsed, which gRPC itself
// does not distinguish from the end of the stream.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_READ_MESSAGE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_READ_MESSAGE_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/status.h"

namespace voxloc::server {

template <typename Message>
struct ReadMessage {
  std::unique_ptr<Message> message = std::make_unique<Message>();
  bool parsed = false;
};

[[nodiscard]] inline absl::Status MalformedMessage() {
  return absl::InvalidArgumentError(
      "each message must be of the method's type (got bytes that cannot be parsed)");
}

}  // namespace voxloc::server

namespace grpc {

template <typename Message>
class SerializationTraits<voxloc::server::ReadMessage<Message>, void> {
 public:
  static Status Deserialize(ByteBuffer* bytes, voxloc::server::ReadMessage<Message>* read) {
    read->parsed = SerializationTraits<Message>::Deserialize(bytes, read->message.get()).ok();
    return Status::OK;
  }
};

}  // namespace grpc

#endif  // VOXLOC_SERVER_RPC_SUPPORT_READ_MESSAGE_H_
