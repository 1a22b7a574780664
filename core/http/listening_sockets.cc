// SPDX-License-Identifier: Apache-2.0

#include "core/http/listening_sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/status/try.h"
#include "core/text/host_port.h"

namespace voxloc {
namespace {

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

void SetPort(int port, sockaddr* address) {
  (address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                  : reinterpret_cast<sockaddr_in*>(address)->sin_port) =
      htons(static_cast<uint16_t>(port));
}

bool IsWildcard(absl::string_view host) { return host == "0.0.0.0" || host == "::"; }

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses Resolve(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &freeaddrinfo};
}

}  // namespace

absl::StatusOr<ListeningSockets> ListeningSockets::Bind(const std::string& address) {
  VOXLOC_ASSIGN_OR_RETURN(const auto parsed, ParseHostPort(address, PortZero::kAllowed));
  const std::string& host = parsed.host;
  const std::string port = absl::StrCat(parsed.port);
  ListeningSockets sockets;
  // A wildcard has one socket for both where the machine has IPv6.
  if (IsWildcard(host)) {
    if (const Addresses any = Resolve("::", port); any != nullptr) {
      if (sockets.Listen(*any, /*also_ipv4=*/true)) return sockets;
    }
  }
  const Addresses found = Resolve(host, port);
  for (const addrinfo* next = found.get(); next != nullptr; next = next->ai_next) {
    if (!sockets.Listen(*next, /*also_ipv4=*/false)) {
      // A name such as localhost may have an address of a family that the machine lacks.
      if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) continue;
      sockets.Close();
      break;
    }
  }
  if (!sockets.fds().empty()) return sockets;
  return absl::AlreadyExistsError(
      absl::StrCat(address, ": the address is taken or not this machine's"));
}

bool ListeningSockets::Listen(const addrinfo& address, bool also_ipv4) {
  const int fd =
      socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
  if (fd < 0) return false;
  const int yes = 1;
  const int only_ipv6 = also_ipv4 ? 0 : 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  // Accepted sockets inherit it.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (address.ai_family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof(only_ipv6));
  }
  sockaddr_storage to = {};
  std::copy_n(reinterpret_cast<const char*>(address.ai_addr), address.ai_addrlen,
              reinterpret_cast<char*>(&to));
  // All addresses of a name have the port that the first one was given.
  if (port_ != 0) SetPort(port_, reinterpret_cast<sockaddr*>(&to));
  if (bind(fd, reinterpret_cast<const sockaddr*>(&to), address.ai_addrlen) != 0 ||
      listen(fd, SOMAXCONN) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  port_ = PortOf(fd);
  fds_.push_back(fd);
  return true;
}

void ListeningSockets::Close() {
  for (const int fd : fds_) close(fd);
  fds_.clear();
}

}  // namespace voxloc
