// SPDX-License-Identifier: Apache-2.0
//
// A connection to a voxloc server, or to the first of several that can be reached, shared by the
// clients that talk over it.
//
// Creating a channel does not connect: the first call does, and a call to a server that cannot be
// reached fails with Unavailable. A Channel is a handle; copies share its connections. Thread-safe.
//
// Several servers: the channel has an ordered list of addresses and keeps a connection to each that
// was used. Calls go to the first address. If it is unreachable, disconnects or drains, it moves to
// the end of the list for everyone who shares the channel, and the next address is tried at once.
// Sessions and watches: see session.h and map_watch.h. Calls without side effects are tried once
// per address. Calls with side effects fail over only before they are sent. A server that rejects
// a session because it is full stays first. A name that resolves to several IP addresses is one
// address here; gRPC connects to the first of them that answers.

#ifndef VOXLOC_CLIENTS_CPP_CHANNEL_H_
#define VOXLOC_CLIENTS_CPP_CHANNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc::client {

struct ChannelOptions {
  // HOST:PORT, or unix:PATH, or several of them separated by commas ("a:50051,b:50051"), in the
  // order in which they are to be tried. Required.
  std::string server;
  // Maximum size of a message from the server. The server reports its own limit in `opened`.
  int max_receive_bytes = 64 << 20;
  // A ping is sent after `keepalive_time_s` without data, and the connection counts as lost if the
  // ping is not answered within `keepalive_timeout_s`. The server rejects pings that are less than
  // 10 seconds apart.
  double keepalive_time_s = 20.0;
  double keepalive_timeout_s = 10.0;

  // Whether to use TLS and verify the server's name. The files are PEM; Create reads them.
  bool tls = false;
  // CA certificates that the server's certificate is verified with. Empty: the system's.
  std::string tls_ca_file;
  // The client's certificate chain and its key, for servers that require client certificates. Set
  // both or neither.
  std::string tls_certificate_file;
  std::string tls_key_file;
  // The name expected in the server's certificate, if it differs from the host of the address, as
  // in tests or behind a proxy or a tunnel. Empty: the host.
  std::string tls_server_name;

  // Sent with every call as metadata, "authorization: Bearer TOKEN". Set at most one of the two.
  // The file is read again for every call and session, so that a replaced token takes effect; while
  // the file is missing or has no token, the last valid one is used. Up to 4096 printable ASCII
  // characters; spaces are allowed at the ends only.
  std::string token;
  std::string token_file;
  // Permits sending a token without TLS to other machines, where anyone on the network path can
  // read it. Otherwise only to this machine (localhost, 127.0.0.0/8, ::1, unix:).
  bool allow_insecure_token = false;

  // The trace context (see IsTraceparent), sent with every call and session as metadata; the server
  // puts it into log lines, results and spans. Scan.traceparent overrides it for one scan. Set at
  // most one of the two. The function is called at the start of each call and of each stream of a
  // session, on the thread that starts it, and must be thread-safe. A return value that is no valid
  // trace context, such as an empty string, is ignored.
  std::string traceparent;
  std::function<std::string()> current_traceparent;
};

class Channel {
 public:
  // InvalidArgument: no server, an address that CheckServer rejects, a time or size that is not
  // positive, a token that is malformed or would leave this machine in plain text, a malformed
  // trace context or two of them, TLS files that are invalid or do not match, or TLS settings
  // without `tls`. NotFound, PermissionDenied, FailedPrecondition: a file cannot be read. Messages
  // name the file and never contain a token.
  [[nodiscard]] static absl::StatusOr<Channel> Create(const ChannelOptions& options);

  // Whether the text is valid for ChannelOptions::server; does not connect. InvalidArgument: no
  // address, or one without a host or without a port from 1 to 65535.
  [[nodiscard]] static absl::Status CheckServer(absl::string_view server);

  // The address that calls go to at the moment. It can change where there are several.
  [[nodiscard]] const std::string& server() const;

  // When the certificate that this server shows ends to be valid, Unix seconds, by a handshake of
  // its own, which takes 2 s at most. Unavailable: no connection, or no TLS.
  [[nodiscard]] absl::StatusOr<int64_t> CertificateExpiry() const;

  // The gRPC side, for this library's own sources.
  struct Impl;
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  explicit Channel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

// When the first certificate of a file in PEM ends to be valid, Unix seconds. The errors of
// Channel::Create.
[[nodiscard]] absl::StatusOr<int64_t> CertificateFileExpiry(const std::string& path);

// Whether the text is a W3C trace context (https://www.w3.org/TR/trace-context/): "00-<32
// hexadecimal digits>-<16>-<2>", lower case, with ids that are not all zeros. Versions after 00 may
// append '-' and printable characters without spaces. Servers ignore others.
[[nodiscard]] bool IsTraceparent(absl::string_view text);

// The environment variable TRACEPARENT, by which programs hand their trace context to those that
// they start; empty where it is not set or not one.
[[nodiscard]] std::string TraceparentOfEnvironment();

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CHANNEL_H_
