// SPDX-License-Identifier: Apache-2.0
//
// CallerCredentials: the credentials of a call. It keeps the digest of a token, never the token.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_CALLER_CREDENTIALS_H_
#define VOXLOC_SERVER_SECURITY_CALLER_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
#include <vector>

#include "core/checksum/sha256.h"

namespace voxloc::server {

struct CallerCredentials {
  // `authorization` metadata is there; it decides alone. Without a digest it is not "Bearer TOKEN".
  bool has_authorization = false;
  std::optional<Sha256Digest> token;
  // Common name, DNS names and URIs of a client certificate that TLS has verified.
  std::vector<std::string> certificate_names;
};

[[nodiscard]] CallerCredentials CredentialsOf(const grpc::CallbackServerContext& context);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_CALLER_CREDENTIALS_H_
