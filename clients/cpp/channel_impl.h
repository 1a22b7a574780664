// SPDX-License-Identifier: Apache-2.0
//
// What a Channel holds. Included by this library's sources only, so that users of the library do
// not compile gRPC's headers.

#ifndef VOXLOC_CLIENTS_CPP_CHANNEL_IMPL_H_
#define VOXLOC_CLIENTS_CPP_CHANNEL_IMPL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "clients/cpp/channel.h"

namespace voxloc::client {

struct Channel::Impl {
  std::string server;
  std::shared_ptr<grpc::Channel> channel;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CHANNEL_IMPL_H_
