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

  // Of a file: as it is now, or the last good one where it holds none at the moment, as while it is
  // being replaced. A token that is too old, the server refuses with its reason. Empty: no token.
  [[nodiscard]] std::string Value() const;

 private:
  struct State {
    std::string file;  // empty: the token never changes
    std::mutex mutex;
    std::string last;
  };

  std::shared_ptr<State> state_;  // null: no token
};

// Those of a plaintext connection where `tls` is false. Errors are those of Channel::Create: the
// files are looked into here, since gRPC only says that a handshake failed.
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ChannelOptions& options);

// Why a connection could not be made, where TLS is the reason: gRPC's own words for it are those of
// its TLS library, or "Socket closed". A connection of its own is made to the server, and nothing
// is sent on it but a handshake.
class TlsProbe {
 public:
  // `address` is one of those of `options`, whose files have been read.
  TlsProbe(std::string address, const ChannelOptions& options);

  // A full clause; empty: TLS is not the reason, or the server cannot be reached at all. Takes at
  // most a few seconds, and looks every few seconds only: between, it says what it found.
  [[nodiscard]] std::string Explain();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string Look() const;

  const std::string address_;
  const bool tls_;
  const std::string ca_file_;
  const std::string certificate_file_;
  const std::string key_file_;
  const std::string server_name_;
  std::mutex mutex_;
  bool looked_ = false;
  Clock::time_point looked_at_;
  std::string found_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SECURITY_H_
