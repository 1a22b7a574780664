// SPDX-License-Identifier: Apache-2.0
//
// A POST over HTTP or HTTPS, by libcurl. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_OBSERVE_TRACE_HTTP_POST_H_
#define VOXLOC_SERVER_OBSERVE_TRACE_HTTP_POST_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace voxloc::server {

struct HttpReply {
  int code = 0;                // such as 200
  double retry_after_s = 0.0;  // 0: not said
  std::string body;            // its first 64 KiB
};

// Posts JSON to an http:// or https:// URL, without a proxy and without following redirects. `stop`
// is asked about once a second, and true ends the call. Unavailable: no connection, or none in
// time; Cancelled: stopped.
[[nodiscard]] absl::StatusOr<HttpReply> PostJson(const std::string& url, const std::string& body,
                                                 double timeout_s,
                                                 const std::function<bool()>& stop);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_TRACE_HTTP_POST_H_
