// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/relay.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/chaos/raw_http2.h"

namespace voxloc::chaos {
namespace {

constexpr int kPoll_ms = 5;

// False: one end has closed.
bool Forward(int from, int to) {
  char buffer[65536];
  const ssize_t got = recv(from, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got <= 0) return false;
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t took = send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
    if (took <= 0) return false;
    sent += took;
  }
  return true;
}

}  // namespace

Relay::Relay(std::string address) : server_(std::move(address)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(here);
  bind(listener_, reinterpret_cast<sockaddr*>(&here), length);
  listen(listener_, SOMAXCONN);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &length);
  address_ = absl::StrCat("127.0.0.1:", ntohs(here.sin_port));
  thread_ = std::thread([this] { Run(); });
}

Relay::~Relay() {
  stopping_ = true;
  thread_.join();
  close(listener_);
}

void Relay::Run() {
  std::vector<std::pair<int, RawConnection>> pairs;  // of a client, and to the server
  while (!stopping_) {
    if (stalled_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPoll_ms));
      continue;
    }
    std::vector<pollfd> waiting = {{listener_, POLLIN, 0}};
    for (const auto& [client, server] : pairs) {
      waiting.push_back({client, POLLIN, 0});
      waiting.push_back({server.fd(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), kPoll_ms) <= 0 || stalled_) continue;
    for (size_t i = pairs.size(); i-- > 0;) {
      const int client = pairs[i].first;
      const int server = pairs[i].second.fd();
      const bool open = (waiting[2 * i + 1].revents == 0 || Forward(client, server)) &&
                        (waiting[2 * i + 2].revents == 0 || Forward(server, client));
      if (open) continue;
      close(client);
      pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (waiting[0].revents == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    RawConnection server(server_);
    if (client >= 0 && server.connected()) {
      pairs.emplace_back(client, std::move(server));
    } else if (client >= 0) {
      close(client);
    }
  }
  for (const auto& pair : pairs) close(pair.first);
}

}  // namespace voxloc::chaos
