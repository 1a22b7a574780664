// SPDX-License-Identifier: Apache-2.0
//
// The streams of a load test, from the opening of their sessions to the last answer.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RUN_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RUN_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/load_test/load_report.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cli/load_test/tally.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"

namespace voxloc::cli {

struct LoadStreamOptions {
  size_t stream = 0;  // counted from 0
  LoadTiming timing;
  double timeout_s = 10.0;           // for `open` and for each answer; 0: no limit
  const LoadDrive* drive = nullptr;  // must outlive the stream
  size_t first_scan = 0;             // of the drive
  v1::OpenSession open;
  ClientFaults faults;
};

// One vehicle of a load test: a session, and the thread that sends on schedule.
//
// The session's reading thread handles replies. In closed loop it also sends the next scan, which
// avoids a thread switch, and the stream's own thread only handles timeouts. In open loop the
// stream's thread sends; a slow connection delays only the messages of its own stream. Sessions are
// cancelled and reopened by the stream's own thread.
class LoadStream {
 public:
  // Opens the session, over a connection of its own.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LoadStream>> Open(
      const client::ChannelOptions& channel, const LoadStreamOptions& options);
  // Ends the session if Finish has not.
  ~LoadStream();
  LoadStream(const LoadStream&) = delete;
  LoadStream& operator=(const LoadStream&) = delete;

  [[nodiscard]] v1::SessionOpened opened() const { return session_->opened(); }

  // Begins to send, once. The clock must outlive the stream.
  void Start(const RunClock& clock);

  // Stops sending, as if the run ended now. Finish must still be called.
  void Stop();

  [[nodiscard]] uint64_t replies() const { return ledger_.replies(); }

  // Waits for the end of sending, then for the scans in flight until the timeout after the end of
  // the run; the rest counts as lost. Closes the session.
  [[nodiscard]] Tally Finish();

 private:
  LoadStream(const client::Channel& channel, const LoadStreamOptions& options);

  [[nodiscard]] absl::StatusOr<std::unique_ptr<client::LocalizationSession>> OpenSession();
  void OnResult(const v1::AlignmentResult& result);
  // Returns earlier at the end of sending.
  void SleepUntil(int64_t time_ns) const;
  void RunOpenLoop();
  void RunClosedLoop();
  // These are called by one thread at a time.
  absl::Status SendScan(uint64_t position, int64_t due_ns);
  void SendNextInLoop();
  struct LoopState {
    std::optional<ScanLedger::Oldest> oldest;
    bool cancelling = false;
  };
  // Waits while the next scan is being sent: the previous one has left the ledger by then, and the
  // session would appear idle.
  [[nodiscard]] LoopState GetLoopState();
  void SendPose(const DueMessage& due);
  // Call once per scan. Whether to cancel it.
  bool ShouldCancelNext();
  [[nodiscard]] int64_t RandomCancelDelay_ns();
  void AwaitEndOrCancel(int64_t until_ns);
  // If scans are in flight, cancels the session with them and opens a new one.
  void CancelSession();
  void AddSessionCounts();
  // Ends the stream if the session has ended; otherwise counts the error of this message.
  void HandleSendError(const absl::Status& refusal);
  void End(const absl::Status& why);

  void CountRejections();
  void AwaitAnswers();
  // When waiting for answers after the run ends; nullopt: no limit.
  [[nodiscard]] std::optional<int64_t> AnswerDeadline_ns() const;

  const client::Channel channel_;
  const LoadStreamOptions options_;
  const bool slow_reader_;
  StreamSchedule schedule_;
  ScanLedger ledger_;
  const RunClock* clock_ = nullptr;
  std::atomic<int64_t> end_ns_;  // of the sending
  uint64_t next_sequence_ = 1;   // of the thread that sends, as is the next
  uint64_t next_position_ = 0;
  uint64_t poses_sent_ = 0;
  uint64_t poses_rejected_ = 0;
  uint64_t reconnects_ = 0;
  uint64_t unexpected_results_ = 0;
  std::mt19937_64 random_;
  double scans_to_cancel_ = 0.0;  // of those sent so far, with a fraction
  // Locked from reading the clock until the next scan of the loop has been sent. Session::Send may
  // call OnResult meanwhile for scans that it completes itself, which does not lock it.
  std::mutex loop_mutex_;
  std::condition_variable cancel_requested_;
  std::atomic<bool> cancelling_{false};  // the last scan that was sent, or the session
  std::atomic<bool> ended_{false};       // the session, before the run was over
  std::unique_ptr<client::LocalizationSession> session_;
  std::thread thread_;
};

class LoadRun {
 public:
  // Opens the sessions. `drives` must outlive the run. Errors are those of the first session that
  // does not open.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LoadRun>> Open(
      const LoadPlan& plan, const std::vector<LoadDrive>& drives);

  // Runs from `start_ns` of RunClock::Monotonic_ns on, to the last answer. `on_progress` is called
  // about four times a second with the time of the run and the number of answers so far, and `stop`
  // as often: whether to end early.
  [[nodiscard]] LoadResult Run(
      int64_t start_ns, const std::function<void(int64_t time_ns, uint64_t answers)>& on_progress,
      const std::function<bool()>& stop = nullptr);

 private:
  explicit LoadRun(const LoadTiming& timing) : timing_(timing) {}

  LoadTiming timing_;
  LoadResult result_;
  std::vector<std::unique_ptr<LoadStream>> streams_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RUN_H_
