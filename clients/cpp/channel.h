// SPDX-License-Identifier: Apache-2.0
//
// A connection to a voxloc server, or to the first of several that can be reached, shared by the
// clients that talk over it.
//
// Creating a channel does not connect: the first call does, and a call to a server that cannot be
// reached fails with Unavailable. A Channel is a handle; copies share its connections. Thread-safe.
//
// Several servers: the channel keeps a connection to each address that was used, and an order in
// which they are tried. Calls go to the first. Where it cannot be reached, breaks off or drains, it
// becomes the last, for all who share the channel, and the next one is tried at once: by sessions
// and watches as session.h and map_watch.h say, by calls that change nothing once an address, and
// by calls that change something only before they are sent. A server that refuses one session
// because it is full keeps its place. A name that resolves to several addresses counts as one
// address here; gRPC then connects to the first of them that answers.

#ifndef VOXLOC_CLIENTS_CPP_CHANNEL_H_
#define VOXLOC_CLIENTS_CPP_CHANNEL_H_

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
  // Most bytes of a message that the server sends. What it takes itself, it says at `opened`.
  int max_receive_bytes = 64 << 20;
  // A ping goes out when nothing was heard for `keepalive_time_s`, and the connection counts as
  // lost when the ping is not answered within `keepalive_timeout_s`. The server refuses pings that
  // come more often than every 10 seconds.
  double keepalive_time_s = 20.0;
  double keepalive_timeout_s = 10.0;

  // Whether connections are encrypted and the server has to prove its name. The files of TLS are
  // PEM, and are read by Create.
  bool tls = false;
  // Certificates of the authorities that vouch for the server. Empty: those of the system.
  std::string tls_ca_file;
  // The client's own certificate, with those between it and its authority, and its key, for servers
  // that ask for them. Both or none.
  std::string tls_certificate_file;
  std::string tls_key_file;
  // The name that the server's certificate must have, where it is not the host of the address: in
  // tests, and behind a proxy or a tunnel. Empty: the host.
  std::string tls_server_name;

  // Goes with every call as metadata, "authorization: Bearer TOKEN". At most one of both. The file
  // is read for every call and session that begins, so that a token that was replaced is used from
  // then on; while the file is missing or holds none, the last good one is. Up to 4096 printable
  // ASCII characters, without spaces but at the ends.
  std::string token;
  std::string token_file;
  // Without TLS a token is sent to this machine only (localhost, 127.0.0.0/8, ::1, unix:), unless
  // this is set: anyone on the way can read it and use it.
  bool allow_insecure_token = false;

  // The trace that calls belong to (traceparent.h): goes with every call and session as metadata,
  // so that the server's log lines, answers and spans are found by it. A scan can name one of its
  // own, Scan.traceparent. At most one of both. The function is asked as each call and each stream
  // of a session begins, on the thread that begins it, and must be thread-safe; what it returns
  // that is no trace context, such as an empty string, is left out.
  std::string traceparent;
  std::function<std::string()> current_traceparent;
};

class Channel {
 public:
  // InvalidArgument: no server, an address that CheckServer refuses, times or sizes that are not
  // positive, a token that is malformed or would leave this machine in plain text, a malformed
  // trace context or two of them, files of TLS that do not hold what they are to hold or do not
  // belong together, or settings of TLS without `tls`. NotFound, PermissionDenied,
  // FailedPrecondition: a file that cannot be read. Messages name the file, and never show a token.
  [[nodiscard]] static absl::StatusOr<Channel> Create(const ChannelOptions& options);

  // Whether the text is what ChannelOptions::server asks for. InvalidArgument: no address, or one
  // without a host or without a port from 1 to 65535. Connects to nothing.
  [[nodiscard]] static absl::Status CheckServer(absl::string_view server);

  // The address that calls go to at the moment. It can change where there are several.
  [[nodiscard]] const std::string& server() const;

  // The gRPC side, for this library's own sources.
  struct Impl;
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  explicit Channel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_CHANNEL_H_
