// SPDX-License-Identifier: Apache-2.0

#include "server/maps/fit/fit_turns.h"

#include <algorithm>

namespace voxloc::server {
namespace {

// What is not spent is kept up to this, so that a pause is not followed by a burst.
constexpr double kMostCreditS = 0.1;
// How long the sessions that have had their turn wait for those that have not: these may have
// ended.
constexpr std::chrono::seconds kLongestWait{10};
constexpr size_t kMostSessions = 10'000;  // of a round
// The last comparison's part in what is expected of the next.
constexpr double kNewPart = 0.2;

}  // namespace

bool FitTurns::Begin(absl::string_view session, double tracking_s, Clock::time_point now) {
  credit_s_ = std::min(kMostCreditS, credit_s_ + share_ * tracking_s);
  if (round_.size() >= kMostSessions) BeginRound();
  const bool has_had = round_[session];
  if (!(credit_s_ > 0.0)) return false;
  if (has_had) {
    if (had_turn_ < round_.size() && now - last_turn_ < kLongestWait) return false;
    BeginRound();
  }
  round_[session] = true;
  ++had_turn_;
  last_turn_ = now;
  credit_s_ -= expected_s_;
  return true;
}

void FitTurns::BeginRound() {
  round_.clear();
  had_turn_ = 0;
}

void FitTurns::End(double spent_s) {
  credit_s_ += expected_s_ - spent_s;
  if (spent_s > 0.0) expected_s_ += kNewPart * (spent_s - expected_s_);
}

}  // namespace voxloc::server
