// SPDX-License-Identifier: Apache-2.0
//
// Compression of HTTP bodies. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_HTTP_GZIP_H_
#define VOXLOC_SERVER_HTTP_GZIP_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc::server {

// In gzip's format (RFC 1952). nullopt: there is no memory for it.
[[nodiscard]] std::optional<std::string> Gzip(absl::string_view text);

// Whether a request's Accept-Encoding takes gzip: it names gzip, or "*", and not with the quality 0
// (RFC 9110, 12.5.3).
[[nodiscard]] bool AcceptsGzip(absl::string_view accept_encoding);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_HTTP_GZIP_H_
