// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/drain.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/scheduling/this_thread.h"

namespace voxloc::server {
namespace {

// How late the end of the last call, or a nearer end, is noticed.
constexpr absl::Duration kPoll = absl::Milliseconds(20);
// After the time is over, for the answers to what has been received: some hundred alignments of
// milliseconds may wait, on a machine that is busy.
constexpr absl::Duration kLastAnswers = absl::Seconds(3);
// Then, for calls that are cancelled to end.
constexpr absl::Duration kCancelling = absl::Seconds(1);
// What stands for any longer time: eleven days.
constexpr double kLongestS = 1e6;

template <typename Clock>
typename Clock::duration ToDuration(double seconds) {
  return std::chrono::duration_cast<typename Clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

Drain::~Drain() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

DrainProgress Drain::Begin(double grace_s, const std::string& reason) {
  grace_s = std::min(grace_s, kLongestS);
  const Clock::time_point now = Clock::now();
  {
    const absl::MutexLock lock(&mutex_);
    if (parts_.life.Advance(ServerState::kDraining)) {
      reason_ = reason;
      const double total_s = parts_.times.total_s();
      const double share = total_s > grace_s ? grace_s / total_s : 1.0;
      const double delay_s = parts_.readiness.watched() ? share * parts_.times.delay_s : 0.0;
      const double spread_s = share * parts_.times.spread_s;
      plan_.tell_begin = now + ToDuration<Clock>(delay_s);
      plan_.tell_end = plan_.tell_begin + ToDuration<Clock>(spread_s);
      plan_.end = now + ToDuration<Clock>(grace_s);
      Log(LogLevel::kInfo, "draining",
          {{"sessions", parts_.sessions.open()},
           {"calls", parts_.calls.count()},
           {"delay_s", delay_s},
           {"spread_s", spread_s},
           {"grace_s", grace_s},
           {"reason", reason}});
      StartThread();
    } else if (const double remaining_s = RemainingS(); grace_s < remaining_s) {
      const auto nearer = [&](Clock::time_point& time) {
        if (time > now)
          time = now + ToDuration<Clock>(std::chrono::duration<double>(time - now).count() *
                                         grace_s / remaining_s);
      };
      nearer(plan_.tell_begin);
      nearer(plan_.tell_end);
      nearer(plan_.end);
      Log(LogLevel::kInfo, "drain_shortened", {{"grace_s", grace_s}, {"reason", reason}});
    }
  }
  return Progress();
}

DrainProgress Drain::BeginToStop(const std::string& reason) {
  {
    const absl::MutexLock lock(&mutex_);
    to_stop_ = true;
  }
  return Begin(parts_.times.total_s(), reason);
}

absl::Status Drain::TakeBack() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    if (to_stop_) return absl::FailedPreconditionError("the server is being stopped");
    if (!parts_.life.draining() || taken_back_) {
      return absl::FailedPreconditionError("the server does not drain");
    }
    if (ending_ && !over_) {
      return absl::FailedPreconditionError(
          "the server ends the streams that stayed; ask again in some seconds");
    }
    taken_back_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
  const absl::MutexLock lock(&mutex_);
  taken_back_ = false;
  if (to_stop_ || stopping_) {  // meanwhile: the drain goes on
    if (to_stop_ && !over_ && !stopping_) StartThread();
    return absl::FailedPreconditionError("the server is being stopped");
  }
  ending_ = false;
  over_ = false;
  parts_.life.Resume();
  Log(LogLevel::kInfo, "drain_taken_back", {{"sessions", parts_.sessions.open()}});
  return absl::OkStatus();
}

void Drain::StartThread() {
  thread_ = std::thread([this] {
    NameThisThread("drain");
    Run();
  });
}

void Drain::Await() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&over_));
}

DrainProgress Drain::Progress() const {
  const size_t open = parts_.sessions.open();
  const absl::MutexLock lock(&mutex_);
  return {open, RemainingS()};
}

uint64_t Drain::sessions_told() const {
  const absl::MutexLock lock(&mutex_);
  return told_;
}

double Drain::RemainingS() const {
  if (!parts_.life.draining() || over_) return 0.0;
  return std::max(0.0, std::chrono::duration<double>(plan_.end - Clock::now()).count());
}

template <typename OfPlan>
Drain::Waited Drain::AwaitTime(const OfPlan& time_of, bool for_calls) {
  while (true) {
    if (for_calls && parts_.calls.count() == 0) return Waited::kNoCalls;
    const absl::MutexLock lock(&mutex_);
    const Clock::duration left = time_of(plan_) - Clock::now();
    if (stopping_ || taken_back_) return Waited::kStopping;
    if (left <= Clock::duration::zero()) return Waited::kTime;
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), std::min(absl::FromChrono(left), kPoll));
  }
}

void Drain::Run() {
  const auto tell_begin = [](const Plan& plan) { return plan.tell_begin; };
  if (AwaitTime(tell_begin, /*for_calls=*/false) == Waited::kStopping) return;
  TellOthers();
  if (!TellSessions()) return;
  const Waited waited = AwaitTime([](const Plan& plan) { return plan.end; }, /*for_calls=*/true);
  if (waited == Waited::kStopping) return;
  {
    const absl::MutexLock lock(&mutex_);
    if (taken_back_) return;
    ending_ = true;
  }
  if (waited == Waited::kTime) EndStreams();
  Log(LogLevel::kInfo, "drained", {{"calls", parts_.calls.count()}});
  const absl::MutexLock lock(&mutex_);
  over_ = true;
}

void Drain::TellOthers() {
  const absl::Status why = DrainingError();
  for (const std::shared_ptr<DrainedCall>& call : parts_.calls.Lasting()) call->OnDrainBegun(why);
}

bool Drain::TellSessions() {
  const std::vector<uint64_t> sessions = parts_.sessions.Numbers();
  uint64_t told = 0;
  for (size_t i = 0; i < sessions.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(sessions.size());
    const auto turn = [share](const Plan& plan) {
      const std::chrono::duration<double> spread = plan.tell_end - plan.tell_begin;
      return plan.tell_begin + ToDuration<Clock>(share * spread.count());
    };
    const Waited waited = AwaitTime(turn, /*for_calls=*/true);
    if (waited == Waited::kStopping) return false;
    if (waited == Waited::kNoCalls) break;
    DrainNotice notice;
    notice.reconnect_after_s = kReconnectAfterDrainS;
    {
      const absl::MutexLock lock(&mutex_);
      notice.remaining_s = RemainingS();
      notice.reason = reason_;
    }
    if (!parts_.sessions.Notify(sessions[i], notice)) continue;
    const absl::MutexLock lock(&mutex_);
    ++told_;
    ++told;
  }
  Log(LogLevel::kInfo, "sessions_told", {{"sessions", told}, {"open", parts_.sessions.open()}});
  return true;
}

void Drain::EndStreams() {
  const absl::Status why = DrainingError();
  const std::vector<std::shared_ptr<DrainedCall>> calls = parts_.calls.Lasting();
  Log(LogLevel::kWarn, "streams_ended", {{"streams", calls.size()}});
  for (const std::shared_ptr<DrainedCall>& call : calls) call->OnDrainOver(why);
  if (parts_.calls.AwaitNone(kLastAnswers)) return;
  for (const std::shared_ptr<DrainedCall>& call : parts_.calls.Lasting()) call->CancelForDrain();
  static_cast<void>(parts_.calls.AwaitNone(kCancelling));
}

}  // namespace voxloc::server
