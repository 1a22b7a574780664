// SPDX-License-Identifier: Apache-2.0
//
// How a channel is secured: the token that goes with each call, the credentials of its connections,
// and what is wrong where TLS prevents one. No message shows a token. Included by this library's
// sources only. Thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_SECURITY_H_
#define VOXLOC_CLIENTS_CPP_SECURITY_H_

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"

namespace voxloc::client {

// The token that goes with each call, given as text or as a file.
class BearerToken {
 public:
  // No token.
  BearerToken() = default;

  // At most one of both may be set; none: no token. InvalidArgument: both, or a token that cannot
  // be sent; otherwise the error of the file, which it names.
  [[nodiscard]] static absl::StatusOr<BearerToken> Create(const std::string& token,
                                                          const std::string& file);

  [[nodiscard]] bool empty() const { return state_ == nullptr; }

  // Reads the file again if there is one; the last valid token while the file has none, as during a
  // replacement. Expiry is left to the server. Empty: no token.
  [[nodiscard]] std::string Value() const;

 private:
  struct State {
    std::string file;  // empty: the token never changes
    std::mutex mutex;
    std::string last;
  };

  std::shared_ptr<State> state_;  // null: no token
};

// Insecure credentials if `tls` is false. Errors are those of Channel::Create: the files are
// validated here, because gRPC only reports that a handshake failed.
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ChannelOptions& options);

// Finds out why a TLS connection failed, since gRPC reports only its TLS library's text or "Socket
// closed". Opens a separate connection to the server and sends only a handshake.
class TlsProbe {
 public:
  // `address` is one of those of `options`, whose files have been read.
  TlsProbe(std::string address, const ChannelOptions& options)
      : address_(std::move(address)), options_(options) {}

  // A clause for an error message. Empty: TLS is not the cause, or the server is unreachable. Takes
  // a few seconds at most; the result is cached for a few seconds.
  [[nodiscard]] std::string Explain();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string Probe() const;

  const std::string address_;
  const ChannelOptions options_;
  std::mutex mutex_;
  bool probed_ = false;
  Clock::time_point probed_at_;
  std::string found_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SECURITY_H_
