// SPDX-License-Identifier: Apache-2.0

#include "server/maps/fit/fit_turns.h"

#include <algorithm>

namespace voxloc::server {
namespace {

// Limit of the unused budget, so that no burst follows a pause.
constexpr double kMaxCreditS = 0.1;
// After this time a round ends even if some sessions had no turn: they may have ended.
constexpr std::chrono::seconds kMaxWait{10};
constexpr size_t kMaxSessions = 10'000;  // of a round
// Weight of the last comparison in the exponential average of the expected cost.
constexpr double kSmoothing = 0.2;

}  // namespace

bool FitTurns::Begin(absl::string_view session, double tracking_s, Clock::time_point now) {
  credit_s_ = std::min(kMaxCreditS, credit_s_ + share_ * tracking_s);
  if (round_.size() >= kMaxSessions) BeginRound();
  const bool served = round_[session];
  if (!(credit_s_ > 0.0)) return false;
  if (served) {
    if (served_sessions_ < round_.size() && now - last_turn_ < kMaxWait) return false;
    BeginRound();
  }
  round_[session] = true;
  ++served_sessions_;
  last_turn_ = now;
  credit_s_ -= expected_s_;
  return true;
}

void FitTurns::BeginRound() {
  round_.clear();
  served_sessions_ = 0;
}

void FitTurns::End(double spent_s) {
  credit_s_ += expected_s_ - spent_s;
  if (spent_s > 0.0) expected_s_ += kSmoothing * (spent_s - expected_s_);
}

}  // namespace voxloc::server
