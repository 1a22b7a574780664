// SPDX-License-Identifier: Apache-2.0

#include "server/network/transport.h"

#include <grpc/compression.h>
#include <grpcpp/resource_quota.h>

#include <cmath>
#include <cstdint>

namespace voxloc::server {
namespace {

// Clients may ask as often whether the server is there.
constexpr int kMinPingIntervalMs = 10'000;
constexpr uint32_t kSpareStreams = 64;

int Milliseconds(double seconds) { return static_cast<int>(std::lround(seconds * 1e3)); }

}  // namespace

void ConfigureTransport(const Config& config, grpc::ServerBuilder& builder) {
  const auto message_bytes = static_cast<int>(config.limits.max_message_bytes);
  builder.SetMaxReceiveMessageSize(message_bytes);
  builder.SetMaxSendMessageSize(message_bytes);
  // gRPC expands a compressed message in whole before it looks at its size: a thousand times what
  // was sent. Calls with compression end UNIMPLEMENTED. As a channel argument this would be
  // overwritten by the builder's own default.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  // Per connection: a coarse guard, above everything that is refused with a reason.
  const Limits& limits = config.limits;
  const uint32_t streams = limits.max_sessions + limits.max_unopened_streams + limits.max_searches +
                           limits.max_scoring_streams + limits.max_map_transactions +
                           limits.max_map_readers + kSpareStreams;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(streams));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  const ConnectionOptions& connections = config.connections;
  // Windows that do not follow the bandwidth: see ConnectionOptions.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                             static_cast<int>(connections.stream_window_bytes));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             Milliseconds(connections.keepalive_time_s));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(connections.keepalive_timeout_s));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Milliseconds(connections.handshake_timeout_s));
  if (connections.idle_timeout_s > 0.0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                               Milliseconds(connections.idle_timeout_s));
  }
  // Of the blocking calls, which are those of reflection.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  grpc::ResourceQuota quota("voxlocd");
  quota.Resize(TransportBytes(limits));
  quota.SetMaxThreads(static_cast<int>(limits.max_transport_threads));
  builder.SetResourceQuota(quota);
}

}  // namespace voxloc::server
