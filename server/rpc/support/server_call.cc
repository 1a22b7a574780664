// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/support/server_call.h"

#include "server/observe/logging.h"

namespace voxloc::server {

ServerCall::ServerCall(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context,
                       const Backlog& backlog)
    : runtime_(runtime),
      call_(runtime, method, context),
      context_(context),
      timeouts_(*runtime.live_config.limits()),
      backlog_(backlog) {
  stop_.cancelled = stopped_;
  stop_.deadline = DeadlineOf(context);
}

void ServerCall::Register(std::shared_ptr<ServerCall> self) {
  Clock::time_point first_check;
  {
    const absl::MutexLock lock(&call_mutex_);
    first_check = timeouts_.NextCheck(Clock::now());
  }
  timeout_entry_ = runtime_.timeouts.Add(self, first_check);
  active_entry_ = runtime_.calls.Add(self);
  self_ = std::move(self);
}

bool ServerCall::Send(std::unique_ptr<Message> message) {
  const size_t bytes = message->ByteSizeLong();
  const absl::MutexLock lock(&call_mutex_);
  if (end_.has_value()) return true;
  call_.Sent(bytes);
  if (backlog_.budget != nullptr) backlog_.budget->Add(bytes);
  outgoing_.push_back({std::move(message), bytes});
  if (outgoing_.size() == 1) StartWriting();
  lagging_ = lagging_ || IsLagging();
  return !lagging_;
}

absl::Status ServerCall::RetainPass(Admission& admission, const Counter& rejected,
                                    absl::string_view what, absl::string_view reason) {
  std::shared_ptr<void> pass = admission.Enter();
  if (pass == nullptr) {
    rejected.Increment();
    return LimitReached(admission.limit(), what, reason);
  }
  RetainUntilEnd(std::move(pass));
  return absl::OkStatus();
}

void ServerCall::HandleWriteDone(bool ok) {
  std::unique_ptr<Message> written;
  std::deque<Outgoing> dropped;
  bool continues = false;
  bool caught_up = false;
  {
    const absl::MutexLock lock(&call_mutex_);
    timeouts_.WriteEnded();
    RemoveBytes(outgoing_.front());
    written = std::move(outgoing_.front().message);
    outgoing_.pop_front();
    if (!ok) {  // the connection is gone
      dropped.swap(outgoing_);
      for (const Outgoing& message : dropped) RemoveBytes(message);
      if (!end_.has_value()) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
    }
    if (!outgoing_.empty()) StartWriting();
    FinishIfDone();
    continues = HasCaughtUp() && !end_.has_value();
    caught_up = continues && std::exchange(lagging_, false);
  }
  if (!ok) StopWork();
  if (continues) OnSent();
  if (caught_up) OnCaughtUp();
}

void ServerCall::HandleDone() {
  StopWork();
  {
    const absl::MutexLock lock(&call_mutex_);
    call_.RecordEnd(end_.value_or(grpc::Status::CANCELLED));
  }
  timeout_entry_.reset();
  active_entry_.reset();
  const ScopedLogTrace log_trace(trace());
  OnEnded();
  const std::shared_ptr<ServerCall> last = std::move(self_);
}

void ServerCall::EndLocked(const absl::Status& status) {
  if (end_.has_value()) return;
  end_ = ToGrpcStatus(denied_.ok() ? status : denied_);
  FinishIfDone();
}

void ServerCall::FinishIfDone() {
  if (finished_ || working_ || !end_.has_value() || !outgoing_.empty()) return;
  finished_ = true;
  retained_.reset();
  call_.AuditEnd(*end_);
  FinishWith(*end_);
}

ServerCall::Clock::time_point ServerCall::Poll(Clock::time_point now) {
  const absl::MutexLock lock(&call_mutex_);
  if (finished_) return TimeoutWatch::kNever;
  if (timeouts_.WriteTimedOut(now)) {
    runtime_.metrics.timed_out_replies.Increment();
    context_.TryCancel();  // the client reads nothing, so a status would not arrive either
    return TimeoutWatch::kNever;
  }
  if (const absl::Status status = timeouts_.CheckRead(now); !status.ok() && !end_) {
    (timeouts_.begun() ? runtime_.metrics.timed_out_idle : runtime_.metrics.timed_out_open)
        .Increment();
    EndLocked(status);
  }
  return timeouts_.NextCheck(now);
}

}  // namespace voxloc::server
