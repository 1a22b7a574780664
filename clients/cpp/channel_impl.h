// SPDX-License-Identifier: Apache-2.0
//
// What a Channel holds: its addresses and their connections, how they are secured, and how calls
// are made over them. No message shows a token. Included by this library's sources only, so that
// users of the library do not compile gRPC's headers. Thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_CHANNEL_IMPL_H_
#define VOXLOC_CLIENTS_CPP_CHANNEL_IMPL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cpp/channel.h"
#include "core/text/host_port.h"

struct x509_st;  // OpenSSL's X509

namespace voxloc::client {

// Of an address of ChannelOptions::server. InvalidArgument: it is a Unix socket's.
[[nodiscard]] absl::StatusOr<HostPort> HostPortOf(absl::string_view address);

// The same code, with the message "SERVER CALL: MESSAGE". gRPC and Abseil number their codes alike;
// a code that is unknown to both becomes Unknown. Error details become payloads (error_details.h).
[[nodiscard]] absl::Status ToAbslStatus(const grpc::Status& status, absl::string_view server,
                                        absl::string_view call);

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

// When a certificate ends to be valid, Unix seconds.
[[nodiscard]] int64_t ExpiryOf(const x509_st* certificate);

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

  // As Channel::CertificateExpiry.
  [[nodiscard]] absl::StatusOr<int64_t> Expiry() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Found {
    std::string cause;                     // as Explain returns it
    std::optional<int64_t> expiry_unix_s;  // of the server's certificate
  };
  [[nodiscard]] Found Probe() const;

  const std::string address_;
  const ChannelOptions options_;
  std::mutex mutex_;
  bool probed_ = false;
  Clock::time_point probed_at_;
  std::string found_;
};

// One address and its connection.
struct Endpoint {
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::shared_ptr<TlsProbe> probe;
  // Whether a server has answered there, so that no handshake needs to be explained.
  std::shared_ptr<std::atomic<bool>> answered = std::make_shared<std::atomic<bool>>(false);
};

struct Channel::Impl {
  std::vector<Endpoint> endpoints;  // in the order of ChannelOptions::server, at least one
  BearerToken token;
  std::function<std::string()> traceparent;  // null: none
  mutable std::atomic<size_t> first{0};      // index of the endpoint that calls go to

  [[nodiscard]] const Endpoint& endpoint() const { return endpoints[first]; }

  // The endpoint is lost, unreachable or draining: makes the next one the first, unless another one
  // already is.
  void FailOver(const Endpoint& left) const;

  // The status of a finished call (ToAbslStatus). Unavailable also makes the channel fail over; if
  // TLS is the cause, the message explains it.
  [[nodiscard]] absl::Status StatusOf(const Endpoint& called, absl::string_view call,
                                      const grpc::Status& end) const;

  // The same for a stream. Cancelled becomes Unavailable unless this client cancelled the stream:
  // gRPC reports it for streams that reach a stopping server, proxies for streams that they drop.
  [[nodiscard]] absl::Status StatusOfStream(const Endpoint& called, absl::string_view call,
                                            const grpc::Status& end, bool cancelled) const;

  // The first endpoint that is connected, or can be until `deadline`; the first where none can.
  // Does not wait if there is only one: the call itself will report the error.
  [[nodiscard]] const Endpoint& AwaitReachable(
      std::chrono::system_clock::time_point deadline) const;

  // For a call: with the token and the trace context, if there are such.
  [[nodiscard]] std::unique_ptr<grpc::ClientContext> NewContext() const;
};

// Adds the metadata `x-voxloc-map`, by which proxies route. gRPC would abort on characters that no
// metadata has; such a name, which no map has either, and an empty one are left out.
void NameMap(absl::string_view map, grpc::ClientContext* context);

// Iterates once over the addresses of a channel, starting with the first. Not thread-safe.
class AddressRound {
 public:
  explicit AddressRound(const Channel& channel) : impl_(&channel.impl()), begin_(impl_->first) {}

  // To be tried now. Lives as long as the channel.
  [[nodiscard]] const Endpoint& endpoint() const { return impl_->endpoints[index()]; }

  // Records the error of the current endpoint and moves to the next one. False: all were tried, and
  // Refusal has their errors.
  [[nodiscard]] bool Next(absl::Status refusal);

  // What the endpoints said, in one message. The code and the details are those of the last that
  // answered, or of the last if none did.
  [[nodiscard]] absl::Status Refusal() const;

  // The minimum of their retry delays, seconds; 0 if one of them gave none.
  [[nodiscard]] double RetryAfter_s() const;

 private:
  [[nodiscard]] size_t index() const {
    return (begin_ + refusals_.size()) % impl_->endpoints.size();
  }

  const Channel::Impl* impl_;
  size_t begin_;
  std::vector<absl::Status> refusals_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CHANNEL_IMPL_H_
