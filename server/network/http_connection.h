// SPDX-License-Identifier: Apache-2.0
//
// HttpConnection: one request and its response over a socket that does not block. Each step does as
// much as the socket allows now. Not thread-safe.

#ifndef VOXLOC_SERVER_NETWORK_HTTP_CONNECTION_H_
#define VOXLOC_SERVER_NETWORK_HTTP_CONNECTION_H_

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace voxloc::server {

class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  // In the order in which connections give way to new ones.
  enum class State {
    kLeaving,    // answered: until the client has closed its end
    kReading,    // the request has not come yet
    kWriting,    // the answer is being sent
    kAnswering,  // the answer is being made
    kClosed,
  };

  // Owns the socket. The request must have come by `deadline`.
  HttpConnection(int fd, Clock::time_point deadline) : fd_(fd), deadline_(deadline) {}
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() { Close(); }

  [[nodiscard]] State state() const { return state_; }
  // Request line and headers, once they have come: while it is kAnswering.
  [[nodiscard]] const std::string& head() const { return in_; }
  // What poll is to wait for.
  [[nodiscard]] pollfd Awaited() const;
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  // Something has come, or the client has gone. kAnswering: the request is there; a request that is
  // too large is kWriting its answer.
  void Read();
  // Sends this, after which the connection is kLeaving.
  void Answer(std::string text);
  // The socket takes more.
  void Write();
  void Close();

 private:
  int fd_;
  Clock::time_point deadline_;
  State state_ = State::kReading;
  std::string in_;
  std::string out_;
  size_t sent_ = 0;  // of out_
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_NETWORK_HTTP_CONNECTION_H_
