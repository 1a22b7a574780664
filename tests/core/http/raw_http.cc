// SPDX-License-Identifier: Apache-2.0

#include "tests/core/http/raw_http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace voxloc {

RawConnection::RawConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval minute{60, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
}

RawConnection::~RawConnection() { close(fd_); }

void RawConnection::Send(const std::string& bytes) const {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t more = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return;
    sent += static_cast<size_t>(more);
  }
}

std::string RawConnection::ReadThrough(const std::string& last) {
  std::array<char, 65536> buffer;
  size_t searched = 0;
  while (true) {
    const size_t found = last.empty() ? std::string::npos : read_.find(last, searched);
    if (found != std::string::npos) {
      const size_t end = found + last.size();
      std::string text = read_.substr(0, end);
      read_.erase(0, end);
      return text;
    }
    searched = read_.size() - std::min(read_.size(), last.size());
    const ssize_t got = read(fd_, buffer.data(), buffer.size());
    if (got <= 0) return std::exchange(read_, {});
    read_.append(buffer.data(), static_cast<size_t>(got));
  }
}

std::string Exchange(int port, const std::string& bytes) {
  RawConnection connection(port);
  connection.Send(bytes);
  return connection.ReadAll();
}

}  // namespace voxloc
