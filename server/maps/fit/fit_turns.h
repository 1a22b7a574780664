// SPDX-License-Identifier: Apache-2.0
//
// FitTurns: which scans are compared with the map, so that this takes a given share of the time of
// tracking, and the sessions take turns. Not thread-safe.

#ifndef VOXLOC_SERVER_MAPS_FIT_FIT_TURNS_H_
#define VOXLOC_SERVER_MAPS_FIT_FIT_TURNS_H_

#include <chrono>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

class FitTurns {
 public:
  using Clock = std::chrono::steady_clock;

  // `share` of tracking's time, [0, 1].
  explicit FitTurns(double share) : share_(share) {}

  // A scan of a session; tracking it took `tracking_s`. True: compare it. Its expected cost is
  // charged until End replaces it by the actual cost.
  [[nodiscard]] bool Begin(absl::string_view session, double tracking_s, Clock::time_point now);
  // spent_s = 0: the scan was not compared.
  void End(double spent_s);

 private:
  void BeginRound();

  const double share_;
  double credit_s_ = 0.0;
  double expected_s_ = 0.01;  // of the next comparison
  // The sessions that came since the round began, and whether they have had their turn in it.
  absl::flat_hash_map<std::string, bool> round_;
  size_t served_sessions_ = 0;
  Clock::time_point last_turn_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_FIT_FIT_TURNS_H_
