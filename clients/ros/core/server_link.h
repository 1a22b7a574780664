// SPDX-License-Identifier: Apache-2.0
//
// ServerLink: keeps a session with the server open for the lifetime of the node. clients/cpp does
// failover, TLS and tokens. If its session ends nevertheless (no server at the start, no such map
// yet, a rejected token), the link opens a new one with a backoff of up to 5 s. No method blocks on
// the network. Thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_SERVER_LINK_H_
#define VOXLOC_CLIENTS_ROS_CORE_SERVER_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::ros {

struct ServerLinkOptions {
  v1::OpenSession open;
  // Called exactly once per scan that Send accepted. If the session ends before the answer, the
  // status is STALE with the reason, never ENGINE_FAULT. Called on a thread of the link or by Send;
  // must be quick and must not call the link.
  std::function<void(uint64_t number, const v1::AlignmentResult& result)> on_result;
  // Without a connection the newest scan waits. After so many seconds its outcome is STALE with the
  // reason, and a later answer of the server is ignored.
  double max_wait_s = 1.0;
  // A session was opened (ok) or lost (the reason). As on_result, up to 0.1 s late.
  std::function<void(const absl::Status& connection)> on_change;
};

// What is known of the connection.
struct ServerState {
  absl::Status connection;   // ok: open now; otherwise why not
  std::string server;        // address in use
  v1::SessionOpened opened;  // of the last session that was opened
  uint64_t sessions = 0;     // opened so far, reconnections included
  uint64_t sent = 0;         // scans
  uint64_t answered = 0;     // by the server
  uint64_t given_up = 0;     // whose outcome was made on the vehicle
  uint64_t bytes_sent = 0;   // of scans, as they were handed over
};

class ServerLink {
 public:
  ServerLink(const client::Channel& channel, ServerLinkOptions options);
  // Ends the session; scans that are not answered have their outcome before it returns.
  ~ServerLink();
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // Sends a scan; on_result gets `number`. Not ok: on_result will not be called. Unavailable: there
  // is no session, with the reason. InvalidArgument, ResourceExhausted: see
  // LocalizationSession::Send.
  [[nodiscard]] absl::Status Send(uint64_t number, v1::Scan scan);

  // The outputs of answers from the next scan on, also in later sessions.
  void SetOutputs(const v1::OutputOptions& outputs);

  // Empties the session's buffer of poses, also in later sessions.
  void Activate();

  [[nodiscard]] ServerState state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_SERVER_LINK_H_
