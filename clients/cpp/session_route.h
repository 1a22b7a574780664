// SPDX-License-Identifier: Apache-2.0
//
// Where a session opens its next stream, and when: the rules of session.h, without the streams.
// For one thread. Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_ROUTE_H_
#define VOXLOC_CLIENTS_CPP_SESSION_ROUTE_H_

#include <optional>

#include "absl/status/status.h"
#include "clients/cpp/address_round.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/channel_impl.h"

namespace voxloc::client {

// How a stream, or the attempt to open it, ended.
struct StreamEnd {
  absl::Status status;
  bool was_open = false;
  // SessionDraining::reconnect_after_s, where the server said that it drains.
  std::optional<double> drained_s;
};

class SessionRoute {
 public:
  SessionRoute(const Channel& channel, const ReconnectOptions& reconnect);

  // Where the next stream is to be opened. Lives as long as the channel.
  [[nodiscard]] const Endpoint& endpoint() const { return round_.endpoint(); }

  // After each stream: seconds to wait before the next. nullopt: there is none, and error() says
  // why.
  [[nodiscard]] std::optional<double> NextAttempt(const StreamEnd& end);

  // What ended the last stream, or, once all addresses refused one, what they said.
  [[nodiscard]] absl::Status error() const;

 private:
  [[nodiscard]] std::optional<double> AfterStream(const StreamEnd& end);
  [[nodiscard]] std::optional<double> AfterRefusal(const absl::Status& refusal);

  const Channel channel_;
  AddressRound round_;
  Backoff backoff_;
  absl::Status error_;
  bool opened_once_ = false;
  double drained_s_ = 0.0;  // what a server that drains asked for, until it was waited
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_ROUTE_H_
