// SPDX-License-Identifier: Apache-2.0
//
// HttpListener: a small HTTP server for probes, scrapes and pages that are kept up to date,
// independent of gRPC. It serves GET and HEAD, one request per connection, from functions of the
// request; it serves no files.
//
// One thread polls all connections, so silent or slow clients delay nobody: each has deadlines, and
// at the limit of connections the oldest one without a whole request is evicted for a new one.
//
// A response may be a stream of server-sent events (HTML Standard, 9.2), which stays open. All
// streams get what Publish is called with. Thread-safe.

#ifndef VOXLOC_CORE_HTTP_HTTP_LISTENER_H_
#define VOXLOC_CORE_HTTP_HTTP_LISTENER_H_

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
#include "core/http/listening_sockets.h"

namespace voxloc {

// As far as probes and scrapes need it, of HTTP/1.1 (RFC 9112).
struct HttpRequest {
  std::string method;
  std::string path;  // decoded, without the query: "/readyz"
  std::string host;  // of the header Host, as it came; empty: there is none
  bool accepts_gzip = false;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::string headers = "";  // more of them, each ended by "\r\n"
  // Of GET: instead of `body`, the events that Publish is called with, until the client closes the
  // connection.
  bool streams_events = false;
};

// In gzip's format (RFC 1952). nullopt: there is no memory for it.
[[nodiscard]] std::optional<std::string> Gzip(absl::string_view text);

// Whether a request's Accept-Encoding takes gzip: it names gzip, or "*", and not with the quality 0
// (RFC 9110, 12.5.3).
[[nodiscard]] bool AcceptsGzip(absl::string_view accept_encoding);

// Called until the listener is destroyed. What they refer to must outlive the listener.
struct HttpPages {
  // On the listener's thread: must not block. nullopt: `slow` has the page.
  std::function<std::optional<HttpResponse>(const HttpRequest& request)> quick;
  // On a thread of its own, one at a time.
  std::function<HttpResponse(const HttpRequest& request)> slow;
};

struct HttpLimits {
  size_t max_connections = 64;
  // For a whole request to arrive. kubelet gives a probe one second by default.
  std::chrono::milliseconds request_timeout{1000};
  // For the answer to be made and taken. Prometheus gives a scrape ten seconds by default.
  std::chrono::milliseconds answer_timeout{10'000};
  // Of `max_connections`; further streams are answered with 503.
  size_t max_streams = 16;
  // A stream gets a comment after this time without an event, so that proxies keep it open and
  // clients that have gone are noticed. The HTML Standard recommends about 15 s.
  std::chrono::milliseconds heartbeat{15'000};
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

  // Sends an event to every stream; `name` and `data` have one line each. A stream that begins
  // later gets the newest event of each name first. One that has not taken the event before yet
  // gets only the newest of each name then, in the order in which they were published; one that
  // takes nothing within the answer's timeout is closed.
  void Publish(const std::string& name, absl::string_view data);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection;
  // By their numbers, which grow: the oldest first.
  using Connections = std::map<uint64_t, std::unique_ptr<Connection>>;

  struct Event {
    uint64_t number = 0;  // rises with each Publish
    std::shared_ptr<const std::string> text;
  };
  using Events = std::map<std::string, Event>;  // the newest one of each name

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
  void Reply(Connection& connection, const HttpRequest& request, HttpResponse response);
  void HandleWake();
  void SendNextEvent(Connection& connection) const;
  // It is over: closes the connection, or sends a heartbeat.
  void HandleDeadline(Connection& connection) const;
  void Drop(Connections::iterator connection);

  // On the other thread.
  void MakeSlowPages();

  ListeningSockets sockets_;
  const HttpPages pages_;
  const HttpLimits limits_;
  const int wake_fd_;  // readable: slow answers or events are there, or it is the end
  Connections connections_;
  Events events_;  // as of the last wake
  uint64_t last_number_ = 0;
  Clock::time_point accept_at_;  // not before: there was no descriptor

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<SlowRequest> slow_requests_ ABSL_GUARDED_BY(mutex_);  // at most one a connection
  std::vector<std::pair<uint64_t, std::string>> slow_answers_ ABSL_GUARDED_BY(mutex_);
  Events published_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_event_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread slow_thread_;
  std::thread thread_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_HTTP_HTTP_LISTENER_H_
