// SPDX-License-Identifier: Apache-2.0
//
// The scans of one stream that are on their way, and the tally of those that no longer are. Each
// scan that is entered leaves once: answered by the server, given an outcome by the session,
// cancelled, not sent, or lost. All times are nanoseconds after the start of the run. Thread-safe;
// a lock of its own for each stream.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_SCAN_LEDGER_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_SCAN_LEDGER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/load_test/tally.h"

namespace voxloc::cli {

class ScanLedger {
 public:
  // `timing` must outlive the ledger. The distributions of times stay empty where `counts_times` is
  // false.
  explicit ScanLedger(const LoadTiming& timing, bool counts_times = true)
      : timing_(timing), counts_times_(counts_times) {}

  // Before the scan is sent: its reply can come before the call that sends it returns.
  void Enter(uint64_t sequence, int64_t due_ns, int64_t sent_ns);

  // The session did not take the scan.
  void NotSent(uint64_t sequence);

  // A scan that was due at this time is never to be sent.
  void Skipped(int64_t due_ns);

  // A result of the server's, or one that the session has made itself: STALE or SUPERSEDED without
  // timings, which the server's results have. False: the scan is not on its way (any more), or is
  // being cancelled. Where it is not lost either, the result is one too many and counts as
  // duplicated.
  bool Complete(const v1::AlignmentResult& result, int64_t now_ns);

  // Their session is about to be cancelled: until CancelAll, what it makes itself of its scans does
  // not count, since it is told to end, maybe between two connections.
  void BeginCancel();

  // Their session was cancelled, and the next one counts its scans from 1 again. How many they are.
  uint64_t CancelAll();

  // The scan is lost. False: it is not on its way (any more).
  bool GiveUp(uint64_t sequence);
  void GiveUpAll();

  void AddProblem(const std::string& problem);

  struct Oldest {
    uint64_t sequence = 0;
    int64_t sent_ns = 0;
  };
  [[nodiscard]] std::optional<Oldest> oldest() const;

  // The server's replies other than SUPERSEDED so far, those of the ramp among them.
  [[nodiscard]] uint64_t replies() const;

  // From the sending of the last scan that was answered to its reply; 0: none was.
  [[nodiscard]] int64_t last_wait_ns() const;

  [[nodiscard]] Tally tally() const;

 private:
  struct InFlight {
    int64_t due_ns = 0;
    int64_t sent_ns = 0;
  };

  void CountReply(const v1::AlignmentResult& result, const InFlight& scan, int64_t now_ns);
  // Of a reply other than SUPERSEDED, in the steady part.
  void CountArrival(const v1::AlignmentResult& result, int64_t now_ns);
  void Lose(uint64_t sequence, const InFlight& scan);

  const LoadTiming& timing_;
  const bool counts_times_;

  mutable std::mutex mutex_;
  std::map<uint64_t, InFlight> in_flight_;
  std::set<uint64_t> lost_;  // no more than the session lets be unanswered
  bool cancelling_ = false;
  uint64_t replies_ = 0;
  int64_t last_wait_ns_ = 0;
  std::optional<int64_t> last_accepted_ns_;  // when it arrived, in the steady part
  Tally tally_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_SCAN_LEDGER_H_
