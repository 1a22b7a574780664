// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_stream.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::cli {
namespace {

// For AwaitEnd, to which 0 is no limit.
constexpr double kNoWait_s = 1e-9;

// How often a stream that waits for its last answers looks whether they have come.
constexpr double kLastAnswersPoll_s = 0.002;

// For the server to end a session that has nothing on its way.
constexpr double kClose_s = 5.0;

// The kernel delays the end of a sleep by up to 50 us of "slack" unless it is told not to.
void WakeOnTime() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace

absl::StatusOr<std::unique_ptr<LoadStream>> LoadStream::Open(const client::ChannelOptions& channel,
                                                             const LoadStreamOptions& options) {
  const absl::StatusOr<client::Channel> connection = client::Channel::Create(channel);
  if (!connection.ok()) return connection.status();
  std::unique_ptr<LoadStream> stream(new LoadStream(options));
  client::SessionOptions session;
  session.open = options.open;
  session.open_timeout_s = options.timeout_s;
  session.on_result = [stream = stream.get()](const v1::AlignmentResult& result) {
    stream->OnResult(result);
  };
  absl::StatusOr<std::unique_ptr<client::LocalizationSession>> opened =
      client::LocalizationSession::Open(*connection, session);
  if (!opened.ok()) return opened.status();
  stream->session_ = *std::move(opened);
  return stream;
}

LoadStream::~LoadStream() {
  if (thread_.joinable()) thread_.join();
}

void LoadStream::Start(const RunClock& clock) {
  clock_ = &clock;
  thread_ = std::thread([this] {
    WakeOnTime();
    options_.timing.open_loop() ? SendOnSchedule() : KeepOneOnItsWay();
  });
}

void LoadStream::OnResult(const v1::AlignmentResult& result) {
  const bool was_on_its_way = ledger_.Settle(result, clock_->Now_ns());
  // A scan that was given up has had its successor.
  if (was_on_its_way && !options_.timing.open_loop()) SendNextOfLoop();
}

void LoadStream::SendOnSchedule() {
  const std::optional<int64_t> last_ns = LastAnswer_ns();
  while (const std::optional<DueMessage> next = schedule_.Next()) {
    if (!ended_) std::this_thread::sleep_until(clock_->TimePoint(next->due_ns));
    const bool too_late = last_ns.has_value() && clock_->Now_ns() >= *last_ns;
    const bool scan = next->kind == DueMessage::Kind::kScan;
    if (ended_ || too_late) {
      if (scan) ledger_.Skipped(next->due_ns);
    } else if (scan) {
      const auto position = static_cast<uint64_t>(next->position);
      const absl::Status sent = SendScan(options_.first_scan + position, next->due_ns);
      if (!sent.ok()) EndOrGoOn(sent);
    } else {
      SendPose(*next);
    }
  }
}

void LoadStream::KeepOneOnItsWay() {
  std::this_thread::sleep_until(clock_->TimePoint(schedule_.start_ns()));
  SendNextOfLoop();
  const int64_t timeout_ns = std::llround(options_.timeout_s * 1e9);
  while (!ended_) {
    const int64_t now_ns = clock_->Now_ns();
    int64_t until_ns = options_.timing.end_ns();
    if (now_ns >= until_ns) return;
    if (timeout_ns > 0) {
      const std::optional<ScanLedger::Oldest> oldest = ledger_.oldest();
      const int64_t sent_ns = oldest.has_value() ? oldest->sent_ns : now_ns;
      if (oldest.has_value() && now_ns >= sent_ns + timeout_ns) {
        if (ledger_.GiveUp(oldest->sequence)) SendNextOfLoop();
        continue;
      }
      until_ns = std::min(until_ns, sent_ns + timeout_ns);
    }
    const double wait_s = 1e-9 * static_cast<double>(until_ns - now_ns);
    if (const std::optional<absl::Status> end = session_->AwaitEnd(wait_s)) End(*end);
  }
}

absl::Status LoadStream::SendScan(uint64_t position, int64_t due_ns) {
  const LoadDrive& drive = *options_.drive;
  const size_t index = drive.IndexAt(position);
  client::ScanInput scan;
  scan.stamp_ns = clock_->Wall_ns(due_ns);
  scan.encoded_cloud = &drive.scans[index];
  if (!(options_.timing.pose_rate_hz > 0.0)) {
    scan.guess_map_T_base = drive.guesses_map_T_base[index];
  }
  // Sessions count the scans that they take.
  const uint64_t sequence = next_sequence_++;
  ledger_.Enter(sequence, due_ns, clock_->Now_ns());
  absl::Status status = session_->Send(scan).status();
  if (!status.ok()) {
    ledger_.NotSent(sequence);
    --next_sequence_;
  }
  return status;
}

void LoadStream::SendNextOfLoop() {
  const int64_t now_ns = clock_->Now_ns();
  if (now_ns >= options_.timing.end_ns()) return;
  const uint64_t position = options_.first_scan + next_position_++;
  if (absl::Status sent = SendScan(position, now_ns); !sent.ok()) End(sent);
}

void LoadStream::SendPose(const DueMessage& due) {
  const Pose map_T_base =
      options_.drive->GuessAt(static_cast<double>(options_.first_scan) + due.position);
  const absl::Status sent = session_->SendPose(clock_->Wall_ns(due.due_ns), map_T_base);
  if (!sent.ok()) {
    EndOrGoOn(sent);
    return;
  }
  ++poses_sent_;
  CountRejections();
}

void LoadStream::CountRejections() {
  while (const std::optional<v1::RequestRejected> rejected = session_->TakeRejection()) {
    ++poses_rejected_;
    ledger_.AddProblem(absl::StrCat("a pose was rejected: ", rejected->detail()));
  }
}

void LoadStream::EndOrGoOn(const absl::Status& refusal) {
  if (session_->AwaitEnd(kNoWait_s).has_value()) {
    End(refusal);
  } else {
    ledger_.AddProblem(std::string(refusal.message()));
  }
}

void LoadStream::End(const absl::Status& why) {
  if (!ended_.exchange(true)) ledger_.AddProblem(std::string(why.message()));
}

std::optional<int64_t> LoadStream::LastAnswer_ns() const {
  if (!(options_.timeout_s > 0.0)) return std::nullopt;
  return options_.timing.end_ns() + std::llround(options_.timeout_s * 1e9);
}

void LoadStream::AwaitAnswers() {
  const std::optional<int64_t> last_ns = LastAnswer_ns();
  while (ledger_.oldest().has_value()) {
    if (last_ns.has_value() && clock_->Now_ns() >= *last_ns) return;
    if (const std::optional<absl::Status> end = session_->AwaitEnd(kLastAnswersPoll_s)) {
      End(*end);
      return;
    }
  }
  session_->Close(kClose_s).IgnoreError();
}

Tally LoadStream::Finish() {
  thread_.join();
  AwaitAnswers();
  CountRejections();
  const auto reconnects = static_cast<uint64_t>(session_->reconnects());
  const uint64_t unexpected = session_->unexpected_results();
  session_.reset();  // from here on no result comes
  ledger_.GiveUpAll();
  Tally tally = ledger_.tally();
  tally.reconnects = reconnects;
  tally.duplicated += unexpected;
  tally.poses_sent = poses_sent_;
  tally.poses_rejected = poses_rejected_;
  tally.streams_ended = ended_ ? 1 : 0;
  return tally;
}

}  // namespace voxloc::cli
