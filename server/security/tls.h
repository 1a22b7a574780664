// SPDX-License-Identifier: Apache-2.0
//
// Checks certificates and keys before they are given to gRPC, which would fail handshakes and say
// why only in its own log. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_TLS_H_
#define VOXLOC_SERVER_SECURITY_TLS_H_

#include <grpcpp/security/server_credentials.h>

#include <array>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/config/config.h"
#include "server/config/config_input.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

// When the first certificate of the chain ends. InvalidArgument: one of both is not PEM, the key
// does not belong to the first certificate, or that one has ended or not begun by `now`.
[[nodiscard]] absl::StatusOr<absl::Time> CheckKeyPair(absl::string_view certificate_chain,
                                                      absl::string_view private_key,
                                                      absl::Time now);

// InvalidArgument: no certificate in PEM, or text in it that is none.
[[nodiscard]] absl::Status CheckAuthorities(absl::string_view certificates);

// TlsFiles: the certificate, the private key and the authorities of the server's TLS. Changed files
// are reloaded; invalid ones leave the material in use as it is. Thread-safe.
struct TlsMaterial {
  std::string certificate_chain;
  std::string private_key;
  std::string client_authorities;  // empty: clients need no certificate
  absl::Time expires;              // the first of the chain
};

// What the files hold. InvalidArgument, NotFound: what is wrong with which file.
[[nodiscard]] absl::StatusOr<TlsMaterial> ReadTlsMaterial(const TlsOptions& options);

class TlsFiles : public TimeoutWatch::Watched {
 public:
  // `options` name a certificate and a key. The metrics must outlive it.
  TlsFiles(TlsOptions options, const Metrics& metrics);

  // Reads the files and puts them in use, or says what is wrong. Logged and counted either way.
  // InvalidArgument, NotFound.
  absl::Status Reload();

  // What is in use; null before the first Reload that was OK.
  [[nodiscard]] std::shared_ptr<const TlsMaterial> material() const;
  [[nodiscard]] bool requires_client_certificate() const { return !options_.client_ca.empty(); }

  // Reads the files if one has changed.
  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  const TlsOptions options_;
  const Metrics& metrics_;
  mutable absl::Mutex mutex_;
  // Of the files that were read last, right or wrong.
  std::array<FileStamp, 3> last_read_ ABSL_GUARDED_BY(mutex_) = {};
  std::shared_ptr<const TlsMaterial> material_ ABSL_GUARDED_BY(mutex_);
};

// How the server's port is protected, by TLS or not at all. InvalidArgument: the settings do not
// fit together, or would serve an address that other machines reach without TLS and without
// `insecure`.
[[nodiscard]] absl::Status CheckTransport(const Config& config);

// Each new connection is encrypted by what is in use then. `files` have been read. For one port,
// whose connections one thread at a time accepts; must outlive the server.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    std::shared_ptr<TlsFiles> files);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_TLS_H_
