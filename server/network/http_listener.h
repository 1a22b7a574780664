// SPDX-License-Identifier: Apache-2.0
//
// HttpListener: a small HTTP server for probes and scrapes, independent of gRPC. It serves GET and
// HEAD, one request per connection, from functions of the path; it serves no files.
//
// One thread polls all connections, so silent or slow clients delay nobody: each has deadlines, and
// at the limit of connections the oldest one without a whole request is evicted for a new one.

#ifndef VOXLOC_SERVER_NETWORK_HTTP_LISTENER_H_
#define VOXLOC_SERVER_NETWORK_HTTP_LISTENER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/network/listening_sockets.h"

namespace voxloc::server {

// As far as probes and scrapes need it, of HTTP/1.1 (RFC 9112).
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

// In gzip's format (RFC 1952). nullopt: there is no memory for it.
[[nodiscard]] std::optional<std::string> Gzip(absl::string_view text);

// Whether a request's Accept-Encoding takes gzip: it names gzip, or "*", and not with the quality 0
// (RFC 9110, 12.5.3).
[[nodiscard]] bool AcceptsGzip(absl::string_view accept_encoding);

// Called until the listener is destroyed. What they refer to must outlive the listener.
struct HttpPages {
  // On the listener's thread: must not block. nullopt: `slow` has the page.
  std::function<std::optional<HttpResponse>(const std::string& path)> quick;
  // On a thread of its own, one at a time.
  std::function<HttpResponse(const std::string& path)> slow;
};

struct HttpLimits {
  size_t max_connections = 64;
  // For a whole request to arrive. kubelet gives a probe one second by default.
  std::chrono::milliseconds request_timeout{1000};
  // For the answer to be made and taken. Prometheus gives a scrape ten seconds by default.
  std::chrono::milliseconds answer_timeout{10'000};
};

class HttpListener {
 public:
  // `address` is ADDR:PORT, port 0 for a free one. InvalidArgument: it is not; AlreadyExists: it is
  // taken or cannot be listened on.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpListener>> Start(
      const std::string& address, HttpPages pages, const HttpLimits& limits = HttpLimits());
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;
  // Returns when no page is being made.
  ~HttpListener();

  [[nodiscard]] int port() const { return sockets_.port(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection;
  // By their numbers, which grow: the oldest first.
  using Connections = std::map<uint64_t, std::unique_ptr<Connection>>;

  struct SlowRequest {
    uint64_t connection = 0;
    HttpRequest request;
  };

  HttpListener(ListeningSockets sockets, HttpPages pages, const HttpLimits& limits, int wake_fd);

  // On the thread that waits for connections.
  void Run();
  [[nodiscard]] Clock::time_point NextDeadline(Clock::time_point now) const;
  void Accept(int listener);
  void EvictConnection();
  void Step(uint64_t number, Connection& connection);
  void Answer(uint64_t number, Connection& connection);
  void SendSlowAnswers();
  void Drop(Connections::iterator connection);

  // On the other thread.
  void MakeSlowPages();

  ListeningSockets sockets_;
  const HttpPages pages_;
  const HttpLimits limits_;
  const int wake_fd_;  // readable: slow answers are there, or it is the end
  Connections connections_;
  uint64_t last_number_ = 0;
  Clock::time_point accept_at_;  // not before: there was no descriptor

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<SlowRequest> slow_requests_ ABSL_GUARDED_BY(mutex_);  // at most one a connection
  std::vector<std::pair<uint64_t, std::string>> slow_answers_ ABSL_GUARDED_BY(mutex_);
  std::thread slow_thread_;
  std::thread thread_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_NETWORK_HTTP_LISTENER_H_
