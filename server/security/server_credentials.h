// SPDX-License-Identifier: Apache-2.0
//
// How the server's port is protected: by TLS, or not at all. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_SERVER_CREDENTIALS_H_
#define VOXLOC_SERVER_SECURITY_SERVER_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/config/config.h"
#include "server/security/tls_files.h"

namespace voxloc::server {

// InvalidArgument: the settings do not fit together, or would serve an address that other machines
// reach without TLS and without `insecure`.
[[nodiscard]] absl::Status CheckTransport(const Config& config);

// Each new connection is encrypted by what is in use then. `files` have been read. For one port,
// whose connections one thread at a time accepts; must outlive the server.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    std::shared_ptr<TlsFiles> files);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_SERVER_CREDENTIALS_H_
