// SPDX-License-Identifier: Apache-2.0
//
// A connection to a voxloc server, shared by the clients that talk over it.
//
// Creating a channel does not connect: the first call does, and a call to a server that cannot be
// reached fails with Unavailable. A Channel is a handle; copies share one connection. Thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_CHANNEL_H_
#define VOXLOC_CLIENTS_CPP_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace voxloc::client {

struct ChannelOptions {
  // HOST:PORT, or unix:PATH. Required.
  std::string server;
  // Most bytes of a message that the server sends. What it takes itself, it says at `opened`.
  int max_receive_bytes = 64 << 20;
  // A ping goes out when nothing was heard for `keepalive_time_s`, and the connection counts as
  // lost when the ping is not answered within `keepalive_timeout_s`. The server refuses pings that
  // come more often than every 10 seconds.
  double keepalive_time_s = 20.0;
  double keepalive_timeout_s = 10.0;
};

class Channel {
 public:
  // InvalidArgument: no server, an address without a port, times or sizes that are not positive.
  [[nodiscard]] static absl::StatusOr<Channel> Create(const ChannelOptions& options);

  [[nodiscard]] const std::string& server() const;

  // The gRPC side, for this library's own sources.
  struct Impl;
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  explicit Channel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CHANNEL_H_
