// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/scan_ledger.h"

#include <cmath>

namespace voxloc::cli {
namespace {

int64_t NanosecondsOf(double seconds) { return std::llround(seconds * 1e9); }

bool MadeBySession(const v1::AlignmentResult& result) {
  return !result.has_timings() && (result.status() == v1::ALIGNMENT_STATUS_STALE ||
                                   result.status() == v1::ALIGNMENT_STATUS_SUPERSEDED);
}

}  // namespace

void ScanLedger::Enter(uint64_t sequence, int64_t due_ns, int64_t sent_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  in_flight_[sequence] = {due_ns, sent_ns};
  if (!timing_.IsSteady(due_ns)) return;
  ++tally_.sent;
  if (!counts_times_) return;
  tally_.lateness.Add(sent_ns - due_ns);
  if (sent_ns - due_ns > kLateSend_ns) ++tally_.late_sends;
}

void ScanLedger::NotSent(uint64_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_flight_.find(sequence);
  if (found == in_flight_.end()) return;
  if (timing_.IsSteady(found->second.due_ns)) {
    --tally_.sent;
    ++tally_.unsent;
  }
  in_flight_.erase(found);
}

void ScanLedger::Skipped(int64_t due_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (timing_.IsSteady(due_ns)) ++tally_.unsent;
}

bool ScanLedger::Complete(const v1::AlignmentResult& result, int64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_flight_.find(result.sequence());
  if (found == in_flight_.end()) {
    if (lost_.erase(result.sequence()) == 0) ++tally_.duplicated;
    return false;
  }
  if (cancelling_ && MadeBySession(result)) return false;
  if (!MadeBySession(result)) {
    CountReply(result, found->second, now_ns);
  } else if (timing_.IsSteady(found->second.due_ns)) {
    ++(result.status() == v1::ALIGNMENT_STATUS_STALE ? tally_.local_stale
                                                     : tally_.local_superseded);
  }
  in_flight_.erase(found);
  return true;
}

void ScanLedger::CountReply(const v1::AlignmentResult& result, const InFlight& scan,
                            int64_t now_ns) {
  const bool superseded = result.status() == v1::ALIGNMENT_STATUS_SUPERSEDED;
  if (!superseded) {
    ++replies_;
    last_wait_ns_ = now_ns - scan.sent_ns;
    if (timing_.IsSteady(now_ns)) CountArrival(result, now_ns);
  }
  if (!timing_.IsSteady(scan.due_ns)) return;
  ++tally_.statuses[result.status()];
  if (superseded) {
    ++tally_.superseded;
    return;
  }
  ++tally_.answered;
  if (result.accepted()) ++tally_.accepted;
  if (!counts_times_) return;
  const v1::Timings& timings = result.timings();
  tally_.latency.Add(now_ns - scan.due_ns);
  if (timing_.tile_updates_hz > 0.0) {
    const bool updating = scan.due_ns >= timing_.updates_begin_ns();
    (updating ? tally_.updating_latency : tally_.quiet_latency).Add(now_ns - scan.due_ns);
  }
  tally_.overhead.Add(now_ns - scan.sent_ns - NanosecondsOf(timings.server_s()));
  tally_.server.Add(NanosecondsOf(timings.server_s()));
  tally_.queue_wait.Add(NanosecondsOf(timings.queue_wait_s()));
  tally_.prepare.Add(NanosecondsOf(timings.prepare_s()));
  tally_.align.Add(NanosecondsOf(timings.align_s()));
  tally_.estimate.Add(NanosecondsOf(timings.estimate_s()));
  tally_.batch_size.Add(timings.batch_size());
}

void ScanLedger::CountArrival(const v1::AlignmentResult& result, int64_t now_ns) {
  ++tally_.arrivals;
  if (!counts_times_ || !result.accepted()) return;
  if (last_accepted_ns_.has_value()) tally_.pause.Add(now_ns - *last_accepted_ns_);
  last_accepted_ns_ = now_ns;
}

void ScanLedger::BeginCancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelling_ = true;
}

uint64_t ScanLedger::CancelAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelling_ = false;
  uint64_t counted = 0;
  for (const auto& [sequence, scan] : in_flight_) {
    if (timing_.IsSteady(scan.due_ns)) ++counted;
  }
  tally_.cancelled += counted;
  if (counted > 0) ++tally_.sessions_cancelled;
  const uint64_t cancelled = in_flight_.size();
  in_flight_.clear();
  lost_.clear();
  return cancelled;
}

void ScanLedger::Lose(uint64_t sequence, const InFlight& scan) {
  lost_.insert(sequence);
  if (timing_.IsSteady(scan.due_ns)) ++tally_.lost;
}

bool ScanLedger::GiveUp(uint64_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_flight_.find(sequence);
  if (found == in_flight_.end()) return false;
  Lose(sequence, found->second);
  in_flight_.erase(found);
  return true;
}

void ScanLedger::GiveUpAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [sequence, scan] : in_flight_) Lose(sequence, scan);
  in_flight_.clear();
}

void ScanLedger::AddProblem(const std::string& problem) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tally_.AddProblem(problem);
}

std::optional<ScanLedger::Oldest> ScanLedger::oldest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (in_flight_.empty()) return std::nullopt;
  return Oldest{in_flight_.begin()->first, in_flight_.begin()->second.sent_ns};
}

uint64_t ScanLedger::replies() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return replies_;
}

int64_t ScanLedger::last_wait_ns() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_wait_ns_;
}

Tally ScanLedger::tally() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tally_;
}

}  // namespace voxloc::cli
