// SPDX-License-Identifier: Apache-2.0

#include "server/connections/connection_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/text/host_port.h"
#include "server/observe/logging.h"
#include "server/scheduling/thread_name.h"

namespace voxloc::server {
namespace {

// How current the number of connections in the metrics is. Looking at 10,000 takes 3 ms.
constexpr std::chrono::milliseconds kRecountPeriod{1000};
// At the limit it is looked more often whether there is room again.
constexpr std::chrono::milliseconds kRecountAtLimit{100};
// Without any descriptor, for the spare one has been taken as well: until the next attempt.
constexpr std::chrono::milliseconds kNoDescriptorPause{50};

ino_t SocketOf(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

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

int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

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

ConnectionListener::ConnectionListener()
    : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), spare_fd_(OpenSpare()) {}

absl::StatusOr<std::unique_ptr<ConnectionListener>> ConnectionListener::Bind(
    const std::string& address) {
  auto listener = absl::WrapUnique(new ConnectionListener());
  const auto parsed = ParseHostPort(address, PortZero::kAllowed);
  if (!parsed.ok()) return parsed.status();
  const std::string& host = parsed->host;
  const std::string port = absl::StrCat(parsed->port);
  // Of the wildcard one socket for both, where the machine has IPv6.
  if (IsWildcard(host)) {
    if (const Addresses any = Resolve("::", port); any != nullptr) {
      if (listener->Listen(*any, /*also_ipv4=*/true)) return listener;
    }
  }
  const Addresses found = Resolve(host, port);
  for (const addrinfo* next = found.get(); next != nullptr; next = next->ai_next) {
    if (!listener->Listen(*next, /*also_ipv4=*/false)) {
      // A name such as localhost may have an address of a family that the machine lacks.
      if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) continue;
      listener->Stop();
      break;
    }
  }
  if (!listener->listeners_.empty()) return listener;
  return absl::AlreadyExistsError(absl::StrCat("cannot serve gRPC on ", address,
                                               ": the address is taken or not this machine's"));
}

bool ConnectionListener::Listen(const addrinfo& address, bool also_ipv4) {
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
  listeners_.push_back(fd);
  return true;
}

ConnectionListener::~ConnectionListener() {
  Stop();
  close(wake_fd_);
  close(spare_fd_);
}

void ConnectionListener::Start(std::unique_ptr<Acceptor> acceptor, size_t max_connections,
                               const Metrics& metrics) {
  acceptor_ = std::move(acceptor);
  max_connections_ = max_connections;
  metrics_ = &metrics;
  thread_ = std::thread([this] { Run(); });
}

void ConnectionListener::Stop() {
  eventfd_write(wake_fd_, 1);
  if (thread_.joinable()) thread_.join();
  for (const int listener : listeners_) close(listener);
  listeners_.clear();
}

void ConnectionListener::Run() {
  NameThisThread("connections");
  std::vector<pollfd> waiting = {{wake_fd_, POLLIN, 0}};
  for (const int listener : listeners_) waiting.push_back({listener, POLLIN, 0});
  while (true) {
    static_cast<void>(poll(waiting.data(), waiting.size(), kRecountPeriod.count()));
    if (waiting[0].revents != 0) return;
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) Accept(waiting[i].fd);
    }
    if (std::chrono::steady_clock::now() >= recounted_ + kRecountPeriod) Recount();
  }
}

void ConnectionListener::Accept(int listener) {
  // One at a time, so that the end does not wait for a flood.
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      RefuseWithoutDescriptor(listener);
    }
    return;  // any other error is of the connection, which has gone
  }
  if (connections_.size() >= max_connections_ &&
      std::chrono::steady_clock::now() >= recounted_ + kRecountAtLimit) {
    Recount();
  }
  if (connections_.size() >= max_connections_) {
    metrics_->connections_over_limit.Increment();
    close(fd);
    LogLimited(LogLevel::kWarn, "connection_refused",
               {{"reason", "limit"}, {"max_connections", max_connections_}});
    return;
  }
  connections_.push_back({fd, SocketOf(fd)});
  Acceptor::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
}

void ConnectionListener::RefuseWithoutDescriptor(int listener) {
  close(spare_fd_);
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  metrics_->connections_without_descriptor.Increment();
  if (fd >= 0) close(fd);
  spare_fd_ = OpenSpare();
  LogLimited(LogLevel::kError, "connection_refused", {{"reason", "descriptors"}});
  if (fd < 0 || spare_fd_ < 0) std::this_thread::sleep_for(kNoDescriptorPause);
}

void ConnectionListener::Recount() {
  recounted_ = std::chrono::steady_clock::now();
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                    [](const Connection& connection) {
                                      return SocketOf(connection.fd) != connection.socket;
                                    }),
                     connections_.end());
  metrics_->connections.Set(static_cast<double>(connections_.size()));
}

}  // namespace voxloc::server
