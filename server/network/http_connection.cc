// SPDX-License-Identifier: Apache-2.0

#include "server/network/http_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "server/network/http_message.h"

namespace voxloc::server {
namespace {

// Of request line and headers. Prometheus sends about 300.
constexpr size_t kMaxRequestBytes = 4096;

constexpr char kEmptyLine[] = "\r\n\r\n";

bool IsRetryable(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

pollfd HttpConnection::PollEvents() const {
  switch (state_) {
    case State::kReading:
    case State::kLingering:
      return {fd_, POLLIN, 0};
    case State::kWriting:
      return {fd_, POLLOUT, 0};
    default:
      return {-1, 0, 0};  // poll passes it over
  }
}

void HttpConnection::Read() {
  std::array<char, kMaxRequestBytes> buffer;
  const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < 0 && IsRetryable(errno)) return;
  if (got <= 0) {
    Close();
    return;
  }
  if (state_ != State::kReading) return;  // further input is ignored
  in_.append(buffer.data(), static_cast<size_t>(got));
  if (const size_t end = in_.find(kEmptyLine); end != std::string::npos && end < kMaxRequestBytes) {
    in_.resize(end);
    state_ = State::kAnswering;
  } else if (in_.size() >= kMaxRequestBytes) {
    Answer(Serialize({431, "the request is too large\n"}, HttpRequest()));
  }
}

void HttpConnection::Answer(std::string text) {
  out_ = std::move(text);
  state_ = State::kWriting;
  Write();
}

void HttpConnection::Write() {
  while (sent_ < out_.size()) {
    const ssize_t taken = send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (taken < 0 && IsRetryable(errno)) return;
    if (taken < 0) {  // the client has gone
      Close();
      return;
    }
    sent_ += static_cast<size_t>(taken);
  }
  // Closing a socket with unread data resets the connection, and the response could be lost.
  shutdown(fd_, SHUT_WR);
  state_ = State::kLingering;
}

void HttpConnection::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  state_ = State::kClosed;
}

}  // namespace voxloc::server
