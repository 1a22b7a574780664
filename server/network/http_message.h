// SPDX-License-Identifier: Apache-2.0
//
// Requests and responses of HTTP/1.1 as text (RFC 9112), as far as probes and scrapes need them,
// with the compression of bodies. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_NETWORK_HTTP_MESSAGE_H_
#define VOXLOC_SERVER_NETWORK_HTTP_MESSAGE_H_

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

// In gzip's format (RFC 1952). nullopt: there is no memory for it.
[[nodiscard]] std::optional<std::string> Gzip(absl::string_view text);

// Whether a request's Accept-Encoding takes gzip: it names gzip, or "*", and not with the quality 0
// (RFC 9110, 12.5.3).
[[nodiscard]] bool AcceptsGzip(absl::string_view accept_encoding);

// What is sent; the connection ends with it. Large bodies are compressed for those who accept it.
[[nodiscard]] std::string Serialize(const HttpResponse& response, const HttpRequest& request);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_NETWORK_HTTP_MESSAGE_H_
