// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/drain.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/parallel/this_thread.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

// How late the end of the last call, or a nearer end, is noticed.
constexpr absl::Duration kPoll = absl::Milliseconds(20);
// After the drain's time, for the replies to what has been received: some hundred alignments of
// milliseconds may wait, on a busy machine.
constexpr absl::Duration kFinalReplyTimeout = absl::Seconds(3);
// Then, for calls that are cancelled to end.
constexpr absl::Duration kCancelTimeout = absl::Seconds(1);
// The longest grace time, 11 days; longer ones are clamped to it.
constexpr double kMaxGraceS = 1e6;

}  // namespace

Drain::~Drain() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

DrainProgress Drain::Begin(double grace_s, const std::string& reason) {
  grace_s = std::min(grace_s, kMaxGraceS);
  const Clock::time_point now = Clock::now();
  {
    const absl::MutexLock lock(&mutex_);
    if (parts_.lifecycle.Advance(ServerState::kDraining)) {
      reason_ = reason;
      const double total_s = parts_.times.total_s();
      const double share = total_s > grace_s ? grace_s / total_s : 1.0;
      const double delay_s =
          parts_.readiness.probed_recently() ? share * parts_.times.delay_s : 0.0;
      const double spread_s = share * parts_.times.spread_s;
      plan_.notify_begin = now + ToDuration(delay_s);
      plan_.notify_end = plan_.notify_begin + ToDuration(spread_s);
      plan_.end = now + ToDuration(grace_s);
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
        if (time > now) time = now + ToDuration(ToSeconds(time - now) * grace_s / remaining_s);
      };
      nearer(plan_.notify_begin);
      nearer(plan_.notify_end);
      nearer(plan_.end);
      Log(LogLevel::kInfo, "drain_shortened", {{"grace_s", grace_s}, {"reason", reason}});
    }
  }
  return Progress();
}

DrainProgress Drain::BeginForShutdown(const std::string& reason) {
  {
    const absl::MutexLock lock(&mutex_);
    for_shutdown_ = true;
  }
  return Begin(parts_.times.total_s(), reason);
}

absl::Status Drain::Cancel() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    if (for_shutdown_) return absl::FailedPreconditionError("the server is being stopped");
    if (!parts_.lifecycle.draining() || cancelled_) {
      return absl::FailedPreconditionError("the server does not drain");
    }
    if (phase_ == Phase::kEndingStreams) {
      return absl::FailedPreconditionError(
          "the server ends the streams that stayed; ask again in some seconds");
    }
    cancelled_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
  const absl::MutexLock lock(&mutex_);
  cancelled_ = false;
  if (for_shutdown_) {  // set meanwhile: the drain continues
    if (phase_ != Phase::kOver) StartThread();
    return absl::FailedPreconditionError("the server is being stopped");
  }
  phase_ = Phase::kWaiting;
  parts_.lifecycle.Resume();
  Log(LogLevel::kInfo, "drain_taken_back", {{"sessions", parts_.sessions.open()}});
  return absl::OkStatus();
}

void Drain::StartThread() {
  thread_ = std::thread([this] {
    SetThreadName("drain");
    Run();
  });
}

void Drain::Await() {
  const absl::MutexLock lock(&mutex_);
  const auto over = [this]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return phase_ == Phase::kOver; };
  mutex_.Await(absl::Condition(&over));
}

DrainProgress Drain::Progress() const {
  const size_t open = parts_.sessions.open();
  const absl::MutexLock lock(&mutex_);
  return {open, RemainingS()};
}

uint64_t Drain::sessions_notified() const {
  const absl::MutexLock lock(&mutex_);
  return notified_;
}

double Drain::RemainingS() const {
  if (!parts_.lifecycle.draining() || phase_ == Phase::kOver) return 0.0;
  return std::max(0.0, ToSeconds(plan_.end - Clock::now()));
}

template <typename OfPlan>
Drain::Waited Drain::AwaitTime(const OfPlan& time_of, bool for_calls) {
  while (true) {
    if (for_calls && parts_.calls.count() == 0) return Waited::kNoCalls;
    const absl::MutexLock lock(&mutex_);
    const Clock::duration left = time_of(plan_) - Clock::now();
    if (cancelled_) return Waited::kCancelled;
    if (left <= Clock::duration::zero()) return Waited::kTime;
    mutex_.AwaitWithTimeout(absl::Condition(&cancelled_), std::min(absl::FromChrono(left), kPoll));
  }
}

void Drain::Run() {
  const auto begin = [](const Plan& plan) { return plan.notify_begin; };
  if (AwaitTime(begin, /*for_calls=*/false) == Waited::kCancelled) return;
  const absl::Status why = DrainingError();
  for (const auto& call : parts_.calls.Drainable()) call->OnDrainStarted(why);
  if (!NotifySessions()) return;
  const Waited waited = AwaitTime([](const Plan& plan) { return plan.end; }, /*for_calls=*/true);
  if (waited == Waited::kCancelled) return;
  {
    const absl::MutexLock lock(&mutex_);
    if (cancelled_) return;
    phase_ = Phase::kEndingStreams;
  }
  if (waited == Waited::kTime) EndStreams();
  Log(LogLevel::kInfo, "drained", {{"calls", parts_.calls.count()}});
  const absl::MutexLock lock(&mutex_);
  phase_ = Phase::kOver;
}

bool Drain::NotifySessions() {
  const std::vector<uint64_t> sessions = parts_.sessions.Numbers();
  uint64_t notified = 0;
  for (size_t i = 0; i < sessions.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(sessions.size());
    const auto turn = [share](const Plan& plan) {
      return plan.notify_begin + ToDuration(share * ToSeconds(plan.notify_end - plan.notify_begin));
    };
    const Waited waited = AwaitTime(turn, /*for_calls=*/true);
    if (waited == Waited::kCancelled) return false;
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
    ++notified_;
    ++notified;
  }
  Log(LogLevel::kInfo, "sessions_told", {{"sessions", notified}, {"open", parts_.sessions.open()}});
  return true;
}

void Drain::EndStreams() {
  const absl::Status why = DrainingError();
  const auto calls = parts_.calls.Drainable();
  Log(LogLevel::kWarn, "streams_ended", {{"streams", calls.size()}});
  for (const auto& call : calls) call->OnDrainDeadline(why);
  if (parts_.calls.AwaitIdle(kFinalReplyTimeout)) return;
  for (const auto& call : parts_.calls.Drainable()) call->CancelForDrain();
  static_cast<void>(parts_.calls.AwaitIdle(kCancelTimeout));
}

}  // namespace voxloc::server
