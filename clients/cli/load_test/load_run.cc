// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_run.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr int64_t kProgressInterval_ns = 250'000'000;

// The processor time of this process, on all processors, since it began.
double ProcessorSeconds() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// How often a stream that waits for its last answers looks whether they have come.
constexpr double kLastAnswersPoll_s = 0.002;

// How often a stream that waits for a scan to cancel looks whether its session has ended.
constexpr double kEndPoll_s = 0.05;

// How often a waiting stream checks for Stop.
constexpr int64_t kStopPoll_ns = 100'000'000;

// For the server to end a session that has nothing on its way.
constexpr double kClose_s = 5.0;

std::mt19937_64 RandomOfStream(uint64_t seed, size_t stream) {
  std::seed_seq numbers{seed, static_cast<uint64_t>(stream)};
  return std::mt19937_64(numbers);
}

// From 0 to 1, 1 excluded.
double UniformRandom(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadRun>> LoadRun::Open(const LoadPlan& plan,
                                                       const std::vector<LoadDrive>& drives) {
  std::unique_ptr<LoadRun> run(new LoadRun(plan.timing));
  std::vector<size_t> drive_scans;
  for (const LoadDrive& drive : drives) {
    drive_scans.push_back(drive.scans.size());
    run->result_.scans += drive.scans.size();
    run->result_.points += drive.points;
  }
  for (size_t s = 0; s < plan.timing.streams; ++s) {
    const StreamAssignment assignment =
        AssignStream(s, plan.timing.streams, drive_scans, plan.maps.size());
    LoadStreamOptions options;
    options.stream = s;
    options.timing = plan.timing;
    options.timeout_s = plan.timeout_s;
    options.faults = plan.faults;
    options.drive = &drives[assignment.drive];
    options.first_scan = assignment.first_scan;
    options.open = plan.open;
    if (plan.open.setup().vehicle().empty()) {
      options.open.mutable_setup()->set_vehicle(absl::StrCat("voxloc load-test ", s));
    }
    options.open.mutable_setup()->set_map(plan.maps[assignment.map]);
    VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<LoadStream> stream,
                            LoadStream::Open(plan.channel, options));
    run->streams_.push_back(std::move(stream));
  }
  const v1::SessionOpened opened = run->streams_.front()->opened();
  run->result_.engine = opened.engine();
  run->result_.profile = opened.profile().name();
  run->result_.server_version = opened.server_version();
  return run;
}

LoadResult LoadRun::Run(int64_t start_ns,
                        const std::function<void(int64_t time_ns, uint64_t answers)>& on_progress,
                        const std::function<bool()>& stop) {
  const RunClock clock(start_ns);
  result_.steady_s = timing_.steady_s;
  for (const std::unique_ptr<LoadStream>& stream : streams_) stream->Start(clock);
  const auto await = [&](int64_t time_ns) {
    for (int64_t now_ns = clock.Now_ns(); now_ns < time_ns && !result_.interrupted;
         now_ns = clock.Now_ns()) {
      std::this_thread::sleep_until(
          clock.TimePoint(std::min(time_ns, now_ns + kProgressInterval_ns)));
      uint64_t answers = 0;
      for (const std::unique_ptr<LoadStream>& stream : streams_) answers += stream->replies();
      on_progress(clock.Now_ns(), answers);
      if (stop == nullptr || !stop()) continue;
      result_.interrupted = true;
      for (const std::unique_ptr<LoadStream>& stream : streams_) stream->Stop();
      const int64_t steady_ns = clock.Now_ns() - timing_.steady_begin_ns();
      result_.steady_s = std::clamp(1e-9 * static_cast<double>(steady_ns), 0.0, timing_.steady_s);
    }
  };
  await(timing_.steady_begin_ns());
  const double before_s = ProcessorSeconds();
  await(timing_.end_ns());
  result_.tally.cpu_s = ProcessorSeconds() - before_s;
  for (const std::unique_ptr<LoadStream>& stream : streams_) {
    result_.tally.Merge(stream->Finish());
  }
  return result_;
}

LoadStream::LoadStream(const client::Channel& channel, const LoadStreamOptions& options)
    : channel_(channel),
      options_(options),
      slow_reader_(options.stream < options.faults.slow_readers),
      schedule_(options.timing, options.stream),
      ledger_(options_.timing, !slow_reader_),
      end_ns_(options.timing.end_ns()),
      random_(RandomOfStream(options.faults.seed, options.stream)),
      // So that the streams do not cancel their sessions all at the same time.
      scans_to_cancel_(UniformRandom(random_)) {}

absl::StatusOr<std::unique_ptr<LoadStream>> LoadStream::Open(const client::ChannelOptions& channel,
                                                             const LoadStreamOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel connection, client::Channel::Create(channel));
  std::unique_ptr<LoadStream> stream(new LoadStream(connection, options));
  VOXLOC_ASSIGN_OR_RETURN(stream->session_, stream->OpenSession());
  return stream;
}

absl::StatusOr<std::unique_ptr<client::LocalizationSession>> LoadStream::OpenSession() {
  client::SessionOptions session;
  session.open = options_.open;
  session.open_timeout_s = options_.timeout_s;
  session.on_result = [this](const v1::AlignmentResult& result) { OnResult(result); };
  return client::LocalizationSession::Open(channel_, session);
}

LoadStream::~LoadStream() {
  if (thread_.joinable()) thread_.join();
}

void LoadStream::Start(const RunClock& clock) {
  clock_ = &clock;
  thread_ = std::thread([this] {
    // The default timer slack of the kernel lengthens sleeps by up to 50 us.
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    options_.timing.open_loop() ? RunOpenLoop() : RunClosedLoop();
  });
}

void LoadStream::Stop() { end_ns_ = std::min(end_ns_.load(), clock_->Now_ns()); }

void LoadStream::SleepUntil(int64_t time_ns) const {
  for (int64_t now_ns = clock_->Now_ns(); now_ns < time_ns && now_ns < end_ns_;
       now_ns = clock_->Now_ns()) {
    std::this_thread::sleep_until(clock_->TimePoint(std::min(time_ns, now_ns + kStopPoll_ns)));
  }
}

void LoadStream::OnResult(const v1::AlignmentResult& result) {
  const int64_t now_ns = clock_->Now_ns();
  // Read it before Complete, after which the cancelling thread may continue.
  const bool cancelling = cancelling_;
  const bool was_in_flight = ledger_.Complete(result, now_ns);
  // Results that the session has made itself come on the thread that sends.
  if (slow_reader_ && !cancelling && result.has_timings() && now_ns < end_ns_.load()) {
    const int64_t delay_ns = std::llround(options_.faults.read_delay_s * 1e9);
    std::this_thread::sleep_until(clock_->TimePoint(std::min(now_ns + delay_ns, end_ns_.load())));
  }
  // For a lost scan the next one was sent already; for one to be cancelled it is sent afterwards.
  if (was_in_flight && !options_.timing.open_loop() && !cancelling) SendNextInLoop();
}

void LoadStream::RunOpenLoop() {
  const std::optional<int64_t> last_ns = AnswerDeadline_ns();
  std::optional<int64_t> cancel_ns;
  while (const std::optional<DueMessage> next = schedule_.Next()) {
    if (cancel_ns.has_value() && *cancel_ns <= next->due_ns && !ended_) {
      std::this_thread::sleep_until(clock_->TimePoint(*cancel_ns));
      CancelSession();
      cancel_ns.reset();
    }
    if (!ended_) SleepUntil(next->due_ns);
    if (next->due_ns >= end_ns_) return;
    const bool too_late = last_ns.has_value() && clock_->Now_ns() >= *last_ns;
    const bool scan = next->kind == DueMessage::Kind::kScan;
    if (ended_ || too_late) {
      if (scan) ledger_.MarkSkipped(next->due_ns);
    } else if (scan) {
      const auto position = static_cast<uint64_t>(next->position);
      const absl::Status sent = SendScan(options_.first_scan + position, next->due_ns);
      if (!sent.ok()) {
        HandleSendError(sent);
      } else if (ShouldCancelNext() && !cancel_ns.has_value()) {
        cancel_ns = clock_->Now_ns() + RandomCancelDelay_ns();
      }
    } else {
      SendPose(*next);
    }
  }
}

void LoadStream::RunClosedLoop() {
  SleepUntil(schedule_.start_ns());
  SendNextInLoop();
  const int64_t timeout_ns = std::llround(options_.timeout_s * 1e9);
  while (!ended_) {
    const int64_t now_ns = clock_->Now_ns();
    if (now_ns >= end_ns_) return;
    int64_t until_ns = std::min(end_ns_.load(), now_ns + kStopPoll_ns);
    const auto [oldest, cancelling] = GetLoopState();
    const int64_t sent_ns = oldest.has_value() ? oldest->sent_ns : now_ns;
    if (cancelling) {
      std::this_thread::sleep_until(clock_->TimePoint(sent_ns + RandomCancelDelay_ns()));
      CancelSession();
      if (!ended_) SendNextInLoop();
      continue;
    }
    if (timeout_ns > 0) {
      if (oldest.has_value() && now_ns >= sent_ns + timeout_ns) {
        if (ledger_.MarkLost(oldest->sequence)) SendNextInLoop();
        continue;
      }
      until_ns = std::min(until_ns, sent_ns + timeout_ns);
    }
    AwaitEndOrCancel(until_ns);
  }
}

void LoadStream::AwaitEndOrCancel(int64_t until_ns) {
  double wait_s = 1e-9 * static_cast<double>(until_ns - clock_->Now_ns());
  if (options_.faults.cancel_percent > 0.0) {
    const std::chrono::duration<double> poll(std::min(wait_s, kEndPoll_s));
    std::unique_lock<std::mutex> lock(loop_mutex_);
    if (cancel_requested_.wait_for(lock, poll, [this] { return cancelling_.load(); })) return;
    wait_s = client::kNoWait_s;
  }
  if (const std::optional<absl::Status> end =
          session_->AwaitEnd(std::max(wait_s, client::kNoWait_s))) {
    End(*end);
  }
}

bool LoadStream::ShouldCancelNext() {
  scans_to_cancel_ += 1e-2 * options_.faults.cancel_percent;
  return scans_to_cancel_ >= 1.0;
}

int64_t LoadStream::RandomCancelDelay_ns() {
  return std::llround(UniformRandom(random_) * static_cast<double>(ledger_.last_wait_ns()));
}

void LoadStream::CancelSession() {
  cancelling_ = ledger_.oldest().has_value();
  if (!cancelling_) return;  // the reply was faster
  ledger_.BeginCancel();
  // The session is closed without time to end, and is therefore cancelled.
  session_->Close(client::kNoWait_s).IgnoreError();
  scans_to_cancel_ -= static_cast<double>(ledger_.CancelAll());
  CountRejections();
  absl::StatusOr<std::unique_ptr<client::LocalizationSession>> opened = OpenSession();
  if (opened.ok()) {
    AddSessionCounts();
    session_ = *std::move(opened);
    next_sequence_ = 1;
  } else {
    End(opened.status());
  }
  cancelling_ = false;
}

void LoadStream::AddSessionCounts() {
  reconnects_ += static_cast<uint64_t>(session_->reconnects());
  unexpected_results_ += session_->unexpected_results();
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
    ledger_.MarkUnsent(sequence);
    --next_sequence_;
  }
  return status;
}

LoadStream::LoopState LoadStream::GetLoopState() {
  const std::lock_guard<std::mutex> lock(loop_mutex_);
  return {ledger_.oldest(), cancelling_};
}

void LoadStream::SendNextInLoop() {
  const std::lock_guard<std::mutex> lock(loop_mutex_);
  const int64_t now_ns = clock_->Now_ns();
  if (now_ns >= end_ns_.load()) return;
  const uint64_t position = options_.first_scan + next_position_++;
  const bool cancel = ShouldCancelNext();
  if (cancel) cancelling_ = true;  // before its reply can come
  if (absl::Status sent = SendScan(position, now_ns); !sent.ok()) End(sent);
  if (cancel) cancel_requested_.notify_one();
}

void LoadStream::SendPose(const DueMessage& due) {
  const Pose map_T_base =
      options_.drive->GuessAt(static_cast<double>(options_.first_scan) + due.position);
  const absl::Status sent = session_->SendPose(clock_->Wall_ns(due.due_ns), map_T_base);
  if (!sent.ok()) {
    HandleSendError(sent);
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

void LoadStream::HandleSendError(const absl::Status& refusal) {
  if (session_->AwaitEnd(client::kNoWait_s).has_value()) {
    End(refusal);
  } else {
    ledger_.AddProblem(std::string(refusal.message()));
  }
}

void LoadStream::End(const absl::Status& why) {
  if (!ended_.exchange(true)) ledger_.AddProblem(std::string(why.message()));
}

std::optional<int64_t> LoadStream::AnswerDeadline_ns() const {
  if (!(options_.timeout_s > 0.0)) return std::nullopt;
  return end_ns_.load() + std::llround(options_.timeout_s * 1e9);
}

void LoadStream::AwaitAnswers() {
  const std::optional<int64_t> last_ns = AnswerDeadline_ns();
  // The run is over, or the session has ended: the loop begins to send nothing more.
  while (GetLoopState().oldest.has_value()) {
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
  AddSessionCounts();
  session_.reset();  // from here on no result comes
  ledger_.MarkAllLost();
  Tally tally = ledger_.tally();
  tally.reconnects = reconnects_;
  tally.duplicated += unexpected_results_;
  tally.poses_sent = poses_sent_;
  tally.poses_rejected = poses_rejected_;
  tally.streams_ended = ended_ ? 1 : 0;
  return tally;
}

}  // namespace voxloc::cli
