// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc::cli {
namespace {

// Kinds of problems that are kept: enough for a report.
constexpr size_t kMaxProblems = 8;

// Values of 7 bits have a bucket each. Of larger values the 7 leading bits choose the bucket: the
// first is always set, which leaves 2^6 buckets for each length.
constexpr int kLeadingBits = 7;
constexpr uint64_t kExactValues = uint64_t{1} << kLeadingBits;
constexpr uint64_t kBucketsPerLength = kExactValues / 2;

size_t BucketOf(int64_t value) {
  const auto v = static_cast<uint64_t>(value);
  if (v < kExactValues) return v;
  int dropped = 0;  // bits of the value that are not leading ones
  while ((v >> dropped) >= kExactValues) ++dropped;
  return kExactValues + static_cast<uint64_t>(dropped - 1) * kBucketsPerLength +
         ((v >> dropped) - kBucketsPerLength);
}

// The mean of the smallest and the largest value of the bucket.
double MiddleOf(size_t bucket) {
  if (bucket < kExactValues) return static_cast<double>(bucket);
  const uint64_t beyond = bucket - kExactValues;
  const auto dropped = static_cast<int>(beyond / kBucketsPerLength + 1);
  const uint64_t leading = beyond % kBucketsPerLength + kBucketsPerLength;
  return std::ldexp(static_cast<double>(leading), dropped) + 0.5 * (std::ldexp(1.0, dropped) - 1.0);
}

int64_t NanosecondsOf(double seconds) { return std::llround(seconds * 1e9); }

bool IsLocalResult(const v1::AlignmentResult& result) {
  return !result.has_timings() && (result.status() == v1::ALIGNMENT_STATUS_STALE ||
                                   result.status() == v1::ALIGNMENT_STATUS_SUPERSEDED);
}

}  // namespace

void AddProblem(const std::string& problem, uint64_t count,
                std::map<std::string, uint64_t>* problems) {
  const auto known = problems->find(problem);
  if (known != problems->end()) {
    known->second += count;
  } else if (problems->size() < kMaxProblems) {
    problems->emplace(problem, count);
  }
}

void Tally::Merge(const Tally& other) {
  const auto add = [&](auto... counts) { ((this->*counts += other.*counts), ...); };
  add(&Tally::sent, &Tally::unsent, &Tally::answered, &Tally::superseded, &Tally::local_superseded,
      &Tally::local_stale, &Tally::cancelled, &Tally::lost, &Tally::accepted, &Tally::late_sends,
      &Tally::arrivals, &Tally::duplicated, &Tally::poses_sent, &Tally::poses_rejected,
      &Tally::reconnects, &Tally::sessions_cancelled, &Tally::streams_ended, &Tally::cpu_s);
  const auto merge = [&](auto... times) { ((this->*times).Merge(other.*times), ...); };
  merge(&Tally::latency, &Tally::quiet_latency, &Tally::updating_latency, &Tally::lateness,
        &Tally::overhead, &Tally::server, &Tally::queue_wait, &Tally::prepare, &Tally::align,
        &Tally::estimate, &Tally::batch_size, &Tally::pause);
  for (const auto& [status, count] : other.statuses) statuses[status] += count;
  for (const auto& [problem, count] : other.problems) AddProblem(problem, count, &problems);
}

void LogHistogram::Add(int64_t value) {
  value = std::max<int64_t>(value, 0);
  const size_t bucket = BucketOf(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1, 0);
  ++buckets_[bucket];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
  ++count_;
}

void LogHistogram::Merge(const LogHistogram& other) {
  if (other.count_ == 0) return;
  if (other.buckets_.size() > buckets_.size()) buckets_.resize(other.buckets_.size(), 0);
  for (size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

double LogHistogram::Percentile(double percent) const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(count_);
  // As in NearestRank: only an exact multiple needs guarding against the product's rounding.
  const double rank = std::clamp(std::ceil(percent * count / 100.0 - 1e-9), 1.0, count);
  uint64_t left = static_cast<uint64_t>(rank);
  size_t bucket = 0;
  while (buckets_[bucket] < left) left -= buckets_[bucket++];
  return std::clamp(MiddleOf(bucket), static_cast<double>(min_), static_cast<double>(max_));
}

Summary LogHistogram::Summarized(double unit) const {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  Summary summary;
  summary.count = count_;
  summary.mean = count_ == 0 ? nothing : sum_ / static_cast<double>(count_) / unit;
  summary.p50 = Percentile(50.0) / unit;
  summary.p95 = Percentile(95.0) / unit;
  summary.p99 = Percentile(99.0) / unit;
  summary.max = count_ == 0 ? nothing : static_cast<double>(max_) / unit;
  return summary;
}

void ScanLedger::Enter(uint64_t sequence, int64_t due_ns, int64_t sent_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  in_flight_[sequence] = {due_ns, sent_ns};
  if (!timing_.IsSteady(due_ns)) return;
  ++tally_.sent;
  if (!counts_times_) return;
  tally_.lateness.Add(sent_ns - due_ns);
  if (sent_ns - due_ns > kLateSend_ns) ++tally_.late_sends;
}

void ScanLedger::MarkUnsent(uint64_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_flight_.find(sequence);
  if (found == in_flight_.end()) return;
  if (timing_.IsSteady(found->second.due_ns)) {
    --tally_.sent;
    ++tally_.unsent;
  }
  in_flight_.erase(found);
}

void ScanLedger::MarkSkipped(int64_t due_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (timing_.IsSteady(due_ns)) ++tally_.unsent;
}

bool ScanLedger::Complete(const v1::AlignmentResult& result, int64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_flight_.find(result.sequence());
  if (found == in_flight_.end()) {
    if (lost_sequences_.erase(result.sequence()) == 0) ++tally_.duplicated;
    return false;
  }
  if (cancelling_ && IsLocalResult(result)) return false;
  if (!IsLocalResult(result)) {
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
    if (timing_.IsSteady(now_ns)) {
      ++tally_.arrivals;
      if (counts_times_ && result.accepted()) {
        if (last_accepted_ns_.has_value()) tally_.pause.Add(now_ns - *last_accepted_ns_);
        last_accepted_ns_ = now_ns;
      }
    }
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
  lost_sequences_.clear();
  return cancelled;
}

void ScanLedger::CountLost(uint64_t sequence, const InFlight& scan) {
  lost_sequences_.insert(sequence);
  if (timing_.IsSteady(scan.due_ns)) ++tally_.lost;
}

bool ScanLedger::MarkLost(uint64_t sequence) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_flight_.find(sequence);
  if (found == in_flight_.end()) return false;
  CountLost(sequence, found->second);
  in_flight_.erase(found);
  return true;
}

void ScanLedger::MarkAllLost() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [sequence, scan] : in_flight_) CountLost(sequence, scan);
  in_flight_.clear();
}

void ScanLedger::AddProblem(const std::string& problem) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cli::AddProblem(problem, 1, &tally_.problems);
}

std::optional<ScanLedger::Oldest> ScanLedger::oldest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (in_flight_.empty()) return std::nullopt;
  return Oldest{in_flight_.begin()->first, in_flight_.begin()->second.sent_ns};
}

Tally ScanLedger::tally() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tally_;
}

}  // namespace voxloc::cli
