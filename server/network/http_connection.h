// SPDX-License-Identifier: Apache-2.0
//
// HttpConnection: one request and its response over a socket that does not block. Each step does as
// much as the socket allows now. Not thread-safe.

#ifndef VOXLOC_SERVER_NETWORK_HTTP_CONNECTION_H_
#define VOXLOC_SERVER_NETWORK_HTTP_CONNECTION_H_

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc::server {

// Requests and responses of HTTP/1.1 as text (RFC 9112), as far as probes and scrapes need them,
// with the compression of bodies. Thread-safe: no shared state.
struct HttpRequest {
  std::string method;
  std::string path;  // decoded, without the query: "/readyz"
  bool accepts_gzip = false;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

// The request line and the headers, up to the empty line and without it. nullopt: they are none.
[[nodiscard]] std::optional<HttpRequest> ParseHttpRequest(absl::string_view head);

// In gzip's format (RFC 1952). nullopt: there is no memory for it.
[[nodiscard]] std::optional<std::string> Gzip(absl::string_view text);

// Whether a request's Accept-Encoding takes gzip: it names gzip, or "*", and not with the quality 0
// (RFC 9110, 12.5.3).
[[nodiscard]] bool AcceptsGzip(absl::string_view accept_encoding);

// What is sent; the connection ends with it. Large bodies are compressed for those who accept it.
[[nodiscard]] std::string Serialize(const HttpResponse& response, const HttpRequest& request);

class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  // In the order in which connections are evicted for new ones.
  enum class State {
    kLingering,  // the response is sent; waits for the client to close
    kReading,    // the request is incomplete
    kWriting,    // the response is being sent
    kAnswering,  // the response is being made
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
  [[nodiscard]] pollfd PollEvents() const;
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  // The socket is readable, or the client has gone. Afterwards kAnswering with a whole request, or
  // kWriting the error for one that is too large.
  void Read();
  // Sends this, after which the connection is kLingering.
  void Answer(std::string text);
  // The socket is writable.
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
