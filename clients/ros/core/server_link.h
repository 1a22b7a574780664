// SPDX-License-Identifier: Apache-2.0
//
// ServerLink: the session with the server, kept open for as long as the node lives. clients/cpp
// reconnects, with its several addresses, TLS and tokens; where its session ends all the same (the
// server was absent at the start, has no such map yet, refused a token that is since replaced), the
// link opens a new one, with growing waits up to 5 s. No method waits for the network. Thread-safe.

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
  // Takes every outcome: one for each scan that Send has taken, also where its session ended before
  // the answer (status ENGINE_FAULT is never used for that: it is STALE, with the reason). Called
  // by a thread of the link's or by Send; must be quick, and not call back.
  std::function<void(uint64_t number, const v1::AlignmentResult& result)> on_result;
  // Without a connection, the newest scan waits for one. After so many seconds it has its outcome
  // all the same: STALE, with the reason. What the server still says of it then is not handed on.
  double max_wait_s = 1.0;
  // A session was opened (ok), or was lost, and why. Likewise, up to 0.1 s later.
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

  // Hands a scan over, with a number of the caller's own that its outcome will bring. Not ok: there
  // will be no outcome. Unavailable: there is no session now, and why. InvalidArgument,
  // ResourceExhausted: see LocalizationSession::Send.
  [[nodiscard]] absl::Status Send(uint64_t number, v1::Scan scan);

  // What answers carry from the next scan on, also in later sessions.
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
