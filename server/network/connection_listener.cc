// SPDX-License-Identifier: Apache-2.0

#include "server/network/connection_listener.h"

#include <fcntl.h>
#include <grpc/compression.h>
#include <grpcpp/resource_quota.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/parallel/this_thread.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// How current the number of connections in the metrics is. Looking at 10,000 takes 3 ms.
constexpr std::chrono::milliseconds kPrunePeriod{1000};
// At the limit it is looked more often whether there is room again.
constexpr std::chrono::milliseconds kPrunePeriodAtLimit{100};

// Clients may ask as often whether the server is there.
constexpr int kMinPingIntervalMs = 10'000;
constexpr uint32_t kSpareStreams = 64;

int Milliseconds(double seconds) { return static_cast<int>(std::lround(seconds * 1e3)); }

ino_t SocketOf(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

ConnectionListener::ConnectionListener()
    : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), spare_fd_(OpenSpare()) {}

absl::StatusOr<std::unique_ptr<ConnectionListener>> ConnectionListener::Bind(
    const std::string& address) {
  auto sockets = ListeningSockets::Bind(address);
  if (!sockets.ok()) {
    return absl::Status(sockets.status().code(),
                        absl::StrCat("cannot serve gRPC on ", sockets.status().message()));
  }
  auto listener = absl::WrapUnique(new ConnectionListener());
  listener->sockets_ = *std::move(sockets);
  return listener;
}

ConnectionListener::~ConnectionListener() {
  Stop();
  close(wake_fd_);
  close(spare_fd_);
}

void ConnectionListener::Start(std::unique_ptr<Acceptor> acceptor, size_t max_connections,
                               const Metrics& metrics) {
  acceptor_ = std::move(acceptor);
  max_connections_ = max_connections;
  metrics_ = &metrics;
  thread_ = std::thread([this] { Run(); });
}

void ConnectionListener::Stop() {
  eventfd_write(wake_fd_, 1);
  if (thread_.joinable()) thread_.join();
  sockets_.Close();
}

void ConnectionListener::Run() {
  SetThreadName("connections");
  std::vector<pollfd> waiting = {{wake_fd_, POLLIN, 0}};
  for (const int listener : sockets_.fds()) waiting.push_back({listener, POLLIN, 0});
  while (true) {
    static_cast<void>(poll(waiting.data(), waiting.size(), kPrunePeriod.count()));
    if (waiting[0].revents != 0) return;
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) Accept(waiting[i].fd);
    }
    if (std::chrono::steady_clock::now() >= pruned_at_ + kPrunePeriod) PruneClosed();
  }
}

void ConnectionListener::Accept(int listener) {
  // One at a time, so that the end does not wait for a flood.
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      RefuseWithoutDescriptor(listener);
    }
    return;  // any other error is of the connection, which has gone
  }
  if (connections_.size() >= max_connections_ &&
      std::chrono::steady_clock::now() >= pruned_at_ + kPrunePeriodAtLimit) {
    PruneClosed();
  }
  if (connections_.size() >= max_connections_) {
    metrics_->connections_over_limit.Increment();
    close(fd);
    LogRateLimited(LogLevel::kWarn, "connection_refused",
                   {{"reason", "limit"}, {"max_connections", max_connections_}});
    return;
  }
  connections_.push_back({fd, SocketOf(fd)});
  Acceptor::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
}

void ConnectionListener::RefuseWithoutDescriptor(int listener) {
  close(spare_fd_);
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  metrics_->connections_without_descriptor.Increment();
  if (fd >= 0) close(fd);
  spare_fd_ = OpenSpare();
  LogRateLimited(LogLevel::kError, "connection_refused", {{"reason", "descriptors"}});
  if (fd < 0 || spare_fd_ < 0) std::this_thread::sleep_for(kNoDescriptorPause);
}

void ConnectionListener::PruneClosed() {
  pruned_at_ = std::chrono::steady_clock::now();
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                    [](const Connection& connection) {
                                      return SocketOf(connection.fd) != connection.socket;
                                    }),
                     connections_.end());
  metrics_->connections.Set(static_cast<double>(connections_.size()));
}

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
  // Queues of the blocking calls, which are those of reflection.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  grpc::ResourceQuota quota("voxlocd");
  quota.Resize(TransportBytes(limits));
  quota.SetMaxThreads(static_cast<int>(limits.max_transport_threads));
  builder.SetResourceQuota(quota);
}

}  // namespace voxloc::server
