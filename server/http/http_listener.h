// SPDX-License-Identifier: Apache-2.0
//
// HttpListener: a small HTTP server for probes and scrapes, apart from gRPC. It answers GET and
// HEAD, one request a connection, with what a handler makes of the path; it serves no files. Few
// threads, small requests and a short time for each bound what a client can occupy: whoever is
// silent or slow is cut off, and what is not HTTP is answered 400 or dropped.
//
// The handler is called from several threads at once, until the listener is destroyed. What it
// refers to must outlive the listener.

#ifndef VOXLOC_SERVER_HTTP_HTTP_LISTENER_H_
#define VOXLOC_SERVER_HTTP_HTTP_LISTENER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

struct mg_connection;
struct mg_context;

namespace voxloc::server {

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

class HttpListener {
 public:
  // `path` is decoded, without the query: "/readyz".
  using Handler = std::function<HttpResponse(const std::string& path)>;

  // `address` is ADDR:PORT, port 0 for a free one. InvalidArgument: it is not; AlreadyExists: it is
  // taken or cannot be listened on.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpListener>> Start(
      const std::string& address, Handler handler);
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;
  // Returns when no request is being answered.
  ~HttpListener();

  [[nodiscard]] int port() const;

 private:
  HttpListener(std::string host, Handler handler)
      : host_(std::move(host)), handler_(std::move(handler)) {}
  static int Serve(mg_connection* connection);
  void Answer(mg_connection* connection) const;

  const std::string host_;  // of the address
  const Handler handler_;
  mg_context* context_ = nullptr;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_HTTP_HTTP_LISTENER_H_
