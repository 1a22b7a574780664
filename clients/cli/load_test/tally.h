// SPDX-License-Identifier: Apache-2.0
//
// What became of the scans of a load test: counts and distributions.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_TALLY_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_TALLY_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clients/cli/load_test/load_schedule.h"
#include "clients/dataset/summary.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

// Counts values that are not negative, such as times in nanoseconds, in buckets whose
// widths grow with the values, as HdrHistogram does. Values below 128 have a bucket each; above,
// every power of two is divided into 64 buckets, so that the middle of a bucket is within 1/128
// (0.8 %) of each of its values. At most 3,712 buckets cover all of int64; only those up to the
// largest value take memory. Histograms of several threads can be added up.
// Not thread-safe.
class LogHistogram {
 public:
  // Below 0 counts as 0.
  void Add(int64_t value);
  void Merge(const LogHistogram& other);

  [[nodiscard]] uint64_t count() const { return count_; }

  // The value of rank ceil(percent / 100 * count), within 0.8 %; NaN when empty.
  [[nodiscard]] double Percentile(double percent) const;

  // In multiples of `unit`. Mean and maximum are exact.
  [[nodiscard]] Summary Summarized(double unit) const;

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  double sum_ = 0.0;
  int64_t min_ = 0;
  int64_t max_ = 0;
};

// Tallies of streams are added up. A tally takes at most 360 KiB, however many scans it counts.
// Distributions of times are in nanoseconds. Not thread-safe.
struct Tally {
  // Of the scans that were due in the steady part: each is sent or unsent, and each sent one has
  // one of the six outcomes below.
  uint64_t sent = 0;                // the session took it
  uint64_t unsent = 0;              // the session refused it, or had ended
  uint64_t answered = 0;            // a reply of the server's other than SUPERSEDED
  uint64_t superseded = 0;          // the server's reply SUPERSEDED
  uint64_t local_superseded = 0;    // the session replaced it before the connection took it
  uint64_t local_stale = 0;         // the session gave it up after the connection was lost
  uint64_t cancelled = 0;           // the client cancelled its session
  uint64_t lost = 0;                // none in time
  uint64_t accepted = 0;            // of the answered ones: see CountsAsAccepted
  uint64_t late_sends = 0;          // sending began more than kLateSend_ns after they were due
  uint64_t sessions_cancelled = 0;  // with scans that are counted as cancelled

  // Replies other than SUPERSEDED that arrived in the steady part, whenever their scans were due.
  uint64_t arrivals = 0;

  // Over the whole run.
  uint64_t duplicated = 0;  // results that no scan was waiting for
  uint64_t poses_sent = 0;
  uint64_t poses_rejected = 0;
  uint64_t reconnects = 0;
  uint64_t streams_ended = 0;  // sessions that ended before the run did

  LogHistogram latency;  // of answered scans, from when they were due
  // The same where tiles are updated, for scans that were due before that began, and after.
  LogHistogram quiet_latency;
  LogHistogram updating_latency;
  LogHistogram lateness;  // from when scans were due to when their sending began
  LogHistogram overhead;  // of answered scans, from being sent, less the server's time
  LogHistogram server;    // this and those below: the replies' timings, of answered scans
  LogHistogram queue_wait;
  LogHistogram prepare;
  LogHistogram align;
  LogHistogram estimate;
  LogHistogram batch_size;
  // From one accepted answer of a stream to the next, by when they arrived, of those that arrived
  // in the steady part. Its maximum is the longest time that a vehicle was without a pose.
  LogHistogram pause;

  std::map<int, uint64_t> statuses;          // replies by v1::AlignmentStatus
  std::map<std::string, uint64_t> problems;  // errors and rejections, and how often; the first few
  double cpu_s = 0.0;                        // of the processors, in the steady part

  [[nodiscard]] uint64_t due() const { return sent + unsent; }
  [[nodiscard]] uint64_t outcomes() const {
    return answered + superseded + local_superseded + local_stale + cancelled + lost;
  }

  void Merge(const Tally& other);
};

// Counts one of the first few kinds of problems; others are left out.
void AddProblem(const std::string& problem, uint64_t count,
                std::map<std::string, uint64_t>* problems);

// A send counts as late from here on. 1 ms is the smallest p99 that docs/performance.md asks of a
// server: a generator that is later than that measures itself.
constexpr int64_t kLateSend_ns = 1'000'000;

// The scans in flight of one stream, and the tally of completed ones. Each scan that is entered is
// removed once: answered by the server, completed by the session, cancelled, not sent, or lost. All
// times are nanoseconds after the start of the run. Thread-safe.
class ScanLedger {
 public:
  // `timing` must outlive the ledger. The distributions of times stay empty where `counts_times` is
  // false.
  explicit ScanLedger(const LoadTiming& timing, bool counts_times = true)
      : timing_(timing), counts_times_(counts_times) {}

  // Before the scan is sent: its reply can come before the call that sends it returns.
  void Enter(uint64_t sequence, int64_t due_ns, int64_t sent_ns);

  // The session did not take the scan.
  void MarkUnsent(uint64_t sequence);

  // A scan that was due at this time is never to be sent.
  void MarkSkipped(int64_t due_ns);

  // A result of the server, or a local one of the session (STALE or SUPERSEDED, without timings).
  // False: the scan is not in flight, or is being cancelled. If it is not lost either, the result
  // counts as duplicated.
  bool Complete(const v1::AlignmentResult& result, int64_t now_ns);

  // Their session is about to be cancelled: until CancelAll, what it makes itself of its scans does
  // not count, since it is asked to end, maybe between two connections.
  void BeginCancel();

  // Call after the session was cancelled; the next one counts its scans from 1 again. Returns the
  // number of cancelled scans.
  uint64_t CancelAll();

  // Counts the scan as lost. False: it is not in flight.
  bool MarkLost(uint64_t sequence);
  void MarkAllLost();

  void AddProblem(const std::string& problem);

  struct Oldest {
    uint64_t sequence = 0;
    int64_t sent_ns = 0;
  };
  [[nodiscard]] std::optional<Oldest> oldest() const;

  // The server's replies other than SUPERSEDED so far, those of the ramp among them.
  [[nodiscard]] uint64_t replies() const { return replies_; }

  // From the sending of the last scan that was answered to its reply; 0: none was.
  [[nodiscard]] int64_t last_wait_ns() const { return last_wait_ns_; }

  [[nodiscard]] Tally tally() const;

 private:
  struct InFlight {
    int64_t due_ns = 0;
    int64_t sent_ns = 0;
  };

  void CountReply(const v1::AlignmentResult& result, const InFlight& scan, int64_t now_ns);
  void CountLost(uint64_t sequence, const InFlight& scan);

  const LoadTiming& timing_;
  const bool counts_times_;

  mutable std::mutex mutex_;
  std::map<uint64_t, InFlight> in_flight_;
  std::set<uint64_t> lost_sequences_;  // no more than the session lets be unanswered
  bool cancelling_ = false;
  std::atomic<uint64_t> replies_{0};
  std::atomic<int64_t> last_wait_ns_{0};
  std::optional<int64_t> last_accepted_ns_;  // when it arrived, in the steady part
  Tally tally_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_TALLY_H_
