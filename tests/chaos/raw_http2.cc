// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/raw_http2.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace voxloc::chaos {
namespace {

constexpr timeval kTimeout = {5, 0};

void AppendBytes(uint32_t value, int bytes, std::string* text) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text->push_back(static_cast<char>(value >> shift));
  }
}

}  // namespace

std::string ClientPreface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(FrameType::kSettings, 0, 0, "");
}

std::string FrameWithLength(uint32_t length, FrameType type, uint8_t flags, uint32_t stream,
                            const std::string& payload) {
  std::string frame;
  AppendBytes(length, 3, &frame);
  AppendBytes(static_cast<uint8_t>(type), 1, &frame);
  AppendBytes(flags, 1, &frame);
  AppendBytes(stream, 4, &frame);
  return frame + payload;
}

std::string Frame(FrameType type, uint8_t flags, uint32_t stream, const std::string& payload) {
  return FrameWithLength(static_cast<uint32_t>(payload.size()), type, flags, stream, payload);
}

std::string HeaderBlock(const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string block;
  for (const auto& [name, value] : headers) {
    block.push_back('\0');
    for (const std::string& text : {name, value}) {
      block.push_back(static_cast<char>(text.size()));
      block += text;
    }
  }
  return block;
}

std::string CallHeaders(const std::string& method) {
  return HeaderBlock({{":method", "POST"},
                      {":scheme", "http"},
                      {":path", method},
                      {":authority", "chaos"},
                      {"te", "trailers"},
                      {"content-type", "application/grpc"}});
}

std::string MessageFrame(uint32_t stream, const std::string& message) {
  std::string payload(1, '\0');  // not compressed
  AppendBytes(static_cast<uint32_t>(message.size()), 4, &payload);
  return Frame(FrameType::kData, 0, stream, payload + message);
}

RawConnection::RawConnection(const std::string& address) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (!absl::SimpleAtoi(parts.second, &port) ||
      inet_pton(AF_INET, parts.first.c_str(), &to.sin_addr) != 1) {
    return;
  }
  to.sin_port = htons(static_cast<uint16_t>(port));
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return;
  // Of connect and of writes.
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof(kTimeout));
  if (connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

RawConnection::~RawConnection() {
  if (fd_ >= 0) close(fd_);
}

RawConnection::RawConnection(RawConnection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

RawConnection& RawConnection::operator=(RawConnection&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

bool RawConnection::Send(const std::string& bytes) const {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t took = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (took < 0 && errno == EINTR) continue;
    if (took <= 0) return false;
    sent += static_cast<size_t>(took);
  }
  return true;
}

bool RawConnection::Receive(double timeout_s, std::string* bytes) const {
  pollfd readable = {fd_, POLLIN, 0};
  if (poll(&readable, 1, static_cast<int>(1e3 * timeout_s)) <= 0) return true;
  char buffer[16384];
  const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
  if (got <= 0) return false;
  bytes->append(buffer, static_cast<size_t>(got));
  return true;
}

bool RawConnection::ClosedWithin(double timeout_s) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  std::string dropped;
  do {
    const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
    if (!Receive(std::max(0.0, left.count()), &dropped)) return true;
    dropped.clear();
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace voxloc::chaos
