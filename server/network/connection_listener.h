// SPDX-License-Identifier: Apache-2.0
//
// ConnectionListener: accepts the connections of clients, a limited number of them, and hands them
// to gRPC. gRPC's own listener has no limit, and stops listening for the life of the process when
// the process has no descriptor left (1.51, "Failed accept4: Too many open files").
//
// A connection over the limit, or without a free descriptor, is accepted and closed at once, so
// that its client can try another server. The listener has its own thread. Bind, Start and Stop
// are called from one thread.

#ifndef VOXLOC_SERVER_NETWORK_CONNECTION_LISTENER_H_
#define VOXLOC_SERVER_NETWORK_CONNECTION_LISTENER_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "core/http/listening_sockets.h"
#include "server/config/config.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

class ConnectionListener {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  // `address` is ADDR:PORT, port 0 for a free one. A wildcard listens for IPv4 and IPv6, a name on
  // all its addresses. Connections wait in the kernel's queue until Start. InvalidArgument:
  // it is not; AlreadyExists: it is taken or not this machine's.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ConnectionListener>> Bind(
      const std::string& address);
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  [[nodiscard]] int port() const { return sockets_.port(); }

  // Accepts from now on, once gRPC's server has started. `metrics` must outlive the listener.
  void Start(std::unique_ptr<Acceptor> acceptor, size_t max_connections, const Metrics& metrics);

  // Closes the port; connections stay open. Before gRPC's server is shut down.
  void Stop();

 private:
  // The inode shows whether gRPC has closed the descriptor and the system has reused its number.
  struct Connection {
    int fd = -1;
    ino_t socket = 0;
  };

  ConnectionListener();
  void Run();
  void Accept(int listener);
  void RefuseWithoutDescriptor(int listener);
  // Removes closed connections from the list.
  void PruneClosed();

  ListeningSockets sockets_;
  int wake_fd_ = -1;   // readable: the thread is to end
  int spare_fd_ = -1;  // closed to accept, and refuse, a connection when no other is free
  std::unique_ptr<Acceptor> acceptor_;
  size_t max_connections_ = 0;
  const Metrics* metrics_ = nullptr;
  std::vector<Connection> connections_;  // of the thread, as is the next
  std::chrono::steady_clock::time_point pruned_at_;
  std::thread thread_;
};

// Sets gRPC up: message sizes, no compression, keepalive, and what it may hold.
void ConfigureTransport(const Config& config, grpc::ServerBuilder& builder);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_NETWORK_CONNECTION_LISTENER_H_
