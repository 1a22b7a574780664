// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/slow_link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/ros_wire/delayed_connection.h"

namespace voxloc::ros_wire {
namespace {

// Of "<IPv4>:<port>".
absl::StatusOr<sockaddr_in> SocketAddress(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, ':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  int port = 0;
  if (inet_pton(AF_INET, parts.first.c_str(), &address.sin_addr) != 1 ||
      !absl::SimpleAtoi(parts.second, &port)) {
    return absl::InvalidArgumentError(absl::StrCat("not an IPv4 address and port: ", text));
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

struct SlowLink::Parts {
  ~Parts() {
    shutdown(listener, SHUT_RDWR);
    if (acceptor.joinable()) acceptor.join();
    close(listener);
  }

  void Accept() {
    while (true) {
      const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(server, reinterpret_cast<const sockaddr*>(&server_address),
                  sizeof server_address) != 0) {
        close(client);
        close(server);
        continue;
      }
      const int yes = 1;
      setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      connections.emplace_back(client, server, options, options.seed + connections.size(), &lost);
    }
  }

  SlowLinkOptions options;
  sockaddr_in server_address{};
  int listener = -1;
  int port = 0;
  std::atomic<uint64_t> lost{0};
  std::list<DelayedConnection> connections;  // of the acceptor
  std::thread acceptor;
};

SlowLink::SlowLink(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SlowLink::~SlowLink() = default;

absl::StatusOr<std::unique_ptr<SlowLink>> SlowLink::Start(const SlowLinkOptions& options) {
  const absl::StatusOr<sockaddr_in> server_address = SocketAddress(options.server_address);
  if (!server_address.ok()) return server_address.status();
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->server_address = *server_address;
  parts->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(parts->listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(parts->listener, 16) != 0 ||
      getsockname(parts->listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return absl::UnavailableError("no port on the loopback could be opened");
  }
  parts->port = ntohs(address.sin_port);
  parts->acceptor = std::thread([raw = parts.get()] { raw->Accept(); });
  return std::unique_ptr<SlowLink>(new SlowLink(std::move(parts)));
}

int SlowLink::port() const { return parts_->port; }
uint64_t SlowLink::lost_segments() const { return parts_->lost; }

}  // namespace voxloc::ros_wire
