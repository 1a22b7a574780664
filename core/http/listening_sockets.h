// SPDX-License-Identifier: Apache-2.0
//
// ListeningSockets: the sockets that listen on an address. They do not block, and are closed when a
// program is executed. Not thread-safe.

#ifndef VOXLOC_CORE_HTTP_LISTENING_SOCKETS_H_
#define VOXLOC_CORE_HTTP_LISTENING_SOCKETS_H_

#include <netdb.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace voxloc {

// Where accept finds no free descriptor: the time until the next attempt.
inline constexpr std::chrono::milliseconds kNoDescriptorPause{50};

class ListeningSockets {
 public:
  // `address` is ADDR:PORT, port 0 for a free one. A wildcard listens for IPv4 and IPv6, a name on
  // all its addresses. Connections wait in the kernel's queue until they are accepted.
  // InvalidArgument: it is not; AlreadyExists: it is taken or not this machine's.
  [[nodiscard]] static absl::StatusOr<ListeningSockets> Bind(const std::string& address);

  ListeningSockets() = default;
  ListeningSockets(ListeningSockets&& other) noexcept
      : fds_(std::exchange(other.fds_, {})), port_(other.port_) {}
  ListeningSockets& operator=(ListeningSockets&& other) noexcept {
    std::swap(fds_, other.fds_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~ListeningSockets() { Close(); }

  [[nodiscard]] const std::vector<int>& fds() const { return fds_; }
  [[nodiscard]] int port() const { return port_; }

  // Connections that have not been accepted are refused.
  void Close();

 private:
  bool Listen(const addrinfo& address, bool also_ipv4);

  std::vector<int> fds_;
  int port_ = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_HTTP_LISTENING_SOCKETS_H_
