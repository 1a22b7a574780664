// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/channel_impl.h"

namespace voxloc::client {
namespace {

absl::Status Validate(const ChannelOptions& options) {
  if (options.server.empty()) {
    return absl::InvalidArgumentError("the server address must be HOST:PORT (got an empty one)");
  }
  if (!absl::StartsWith(options.server, "unix:") && !absl::StrContains(options.server, ':')) {
    return absl::InvalidArgumentError(
        absl::StrCat("the server address must be HOST:PORT (got '", options.server, "')"));
  }
  if (options.max_receive_bytes <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_receive_bytes must be over 0 (got ", options.max_receive_bytes, ")"));
  }
  for (const double seconds : {options.keepalive_time_s, options.keepalive_timeout_s}) {
    if (!(seconds > 0.0 && seconds <= 86400.0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a keepalive time must be over 0 and at most 86400 s (got ", seconds, ")"));
    }
  }
  return absl::OkStatus();
}

int Milliseconds(double seconds) { return static_cast<int>(std::lround(seconds * 1e3)); }

}  // namespace

absl::StatusOr<Channel> Channel::Create(const ChannelOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time_s));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout_s));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A session reopens by its own schedule: the channel must not wait longer between attempts.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // How long an attempt to connect may take: as long as the longest pause between two. Two round
  // trips of a slow link and a loaded machine need more than the first pause.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // Channels of equal arguments would otherwise share one connection and its state.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto impl = std::make_shared<Impl>();
  impl->server = options.server;
  impl->channel =
      grpc::CreateCustomChannel(options.server, grpc::InsecureChannelCredentials(), arguments);
  return Channel(std::move(impl));
}

const std::string& Channel::server() const { return impl_->server; }

}  // namespace voxloc::client
