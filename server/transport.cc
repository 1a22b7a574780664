// SPDX-License-Identifier: Apache-2.0

#include "server/transport.h"

#include <grpcpp/resource_quota.h>

#include <cstdint>

namespace voxloc::server {
namespace {

constexpr int kKeepaliveTimeMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kMinPingIntervalMs = 10'000;
constexpr uint32_t kSpareStreams = 64;

}  // namespace

void ConfigureTransport(const Config& config, grpc::ServerBuilder& builder) {
  const auto message_bytes = static_cast<int>(config.limits.max_message_bytes);
  builder.SetMaxReceiveMessageSize(message_bytes);
  builder.SetMaxSendMessageSize(message_bytes);
  // Per connection: a coarse guard, above everything that is refused with a reason.
  const Limits& limits = config.limits;
  const uint32_t streams = limits.max_sessions + limits.max_unopened_streams + limits.max_searches +
                           limits.max_scoring_streams + limits.max_map_transactions + kSpareStreams;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(streams));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Of the blocking calls, which are those of reflection.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  grpc::ResourceQuota quota("voxlocd");
  quota.Resize(TransportBytes(limits));
  quota.SetMaxThreads(static_cast<int>(limits.max_transport_threads));
  builder.SetResourceQuota(quota);
}

}  // namespace voxloc::server
