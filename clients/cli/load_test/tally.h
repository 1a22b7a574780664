// SPDX-License-Identifier: Apache-2.0
//
// What became of the scans of a load test: counts and distributions. Tallies of streams
// are added up. A tally takes at most 360 KiB, however many scans it counts. Not thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_TALLY_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_TALLY_H_

#include <cstdint>
#include <map>
#include <string>

#include "clients/cli/load_test/log_histogram.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

// Distributions of times are in nanoseconds.
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
  // Of these, where tiles are updated: those that were due before that began, and after.
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

  // One more problem of this kind, where it is not one too many.
  void AddProblem(const std::string& problem, uint64_t count = 1);
  void Merge(const Tally& other);
};

// One more problem of this kind, where it is not one too many.
void AddProblem(const std::string& problem, uint64_t count,
                std::map<std::string, uint64_t>* problems);

// A send counts as late from here on. 1 ms is the smallest p99 that docs/performance.md asks of a
// server: a generator that is later than that measures itself.
constexpr int64_t kLateSend_ns = 1'000'000;

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_TALLY_H_
