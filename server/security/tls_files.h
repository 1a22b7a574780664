// SPDX-License-Identifier: Apache-2.0
//
// TlsFiles: the certificate, the private key and the authorities of the server's TLS. Changed files
// are reloaded; invalid ones leave the material in use as it is. Thread-safe.

#ifndef VOXLOC_SERVER_SECURITY_TLS_FILES_H_
#define VOXLOC_SERVER_SECURITY_TLS_FILES_H_

#include <array>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/config/config.h"
#include "server/config/text_file.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

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
  using Stamps = std::array<FileStamp, 3>;
  [[nodiscard]] Stamps StampsNow() const;

  const TlsOptions options_;
  const Metrics& metrics_;
  mutable absl::Mutex mutex_;
  Stamps last_read_
      ABSL_GUARDED_BY(mutex_) = {};  // of the files that were read last, right or wrong
  std::shared_ptr<const TlsMaterial> material_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_TLS_FILES_H_
