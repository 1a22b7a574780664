// SPDX-License-Identifier: Apache-2.0
//
// Requests and responses of HTTP/1.1 as text (RFC 9112), as far as probes and scrapes need them.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_HTTP_HTTP_MESSAGE_H_
#define VOXLOC_SERVER_HTTP_HTTP_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc::server {

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

// What is sent; the connection ends with it. Large bodies are compressed for those who accept it.
[[nodiscard]] std::string ToText(const HttpResponse& response, const HttpRequest& request);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_HTTP_HTTP_MESSAGE_H_
