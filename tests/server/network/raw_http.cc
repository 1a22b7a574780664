// SPDX-License-Identifier: Apache-2.0

#include "tests/server/network/raw_http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace voxloc::server {

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

std::string RawConnection::ReadAll() const {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd_, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::string Exchange(int port, const std::string& bytes) {
  const RawConnection connection(port);
  connection.Send(bytes);
  return connection.ReadAll();
}

}  // namespace voxloc::server
