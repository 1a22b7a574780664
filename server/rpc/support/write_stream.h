// SPDX-License-Identifier: Apache-2.0
//
// WriteStream: what every stream from the server to a client has in common. It sends one message
// after another, ends the call exactly once, and lives until gRPC and everyone else who holds it
// have let go. A client that takes nothing is given up after Limits.idle_timeout_s.
//
// Send and End may be called from any thread. The On... calls come on gRPC's threads and must be
// short.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/convert/status.h"
#include "server/lifecycle/active_calls.h"
#include "server/observe/logging.h"
#include "server/rpc/support/admit.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/stream_timeouts.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

template <typename Response>
class WriteStream : public grpc::ServerWriteReactor<Response>,
                    public TimeoutWatch::Watched,
                    public DrainedCall {
 public:
  WriteStream(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : call_(runtime, method, context),
        context_(context),
        metrics_(runtime.metrics),
        timeouts_(*runtime.live.limits()) {
    timeouts_.ReadingEnded();  // the request is there
  }

  // Hands the stream to gRPC, which gives its share of it back when the call is done. It begins if
  // the caller may use what the request names.
  template <typename Stream, typename Request>
  static grpc::ServerWriteReactor<Response>* Launch(Runtime& runtime,
                                                    std::shared_ptr<Stream> stream,
                                                    const Request& request) {
    WriteStream* const reactor = stream.get();
    reactor->watched_ =
        runtime.timeouts.Add(std::weak_ptr<TimeoutWatch::Watched>(stream), reactor->FirstCheck());
    reactor->known_ = runtime.calls.Add(stream);
    reactor->self_ = std::move(stream);
    const LogTrace log_trace(reactor->trace());
    if (const absl::Status status = Admit(reactor->call_, request); status.ok()) {
      reactor->Begin();
    } else {
      reactor->End(status);
    }
    return reactor;
  }

 protected:
  // The first call, in the thread that made the stream.
  virtual void Begin() = 0;
  // The message before has been taken; the next can be sent.
  virtual void OnSent() = 0;
  // The call is over. The last call.
  virtual void OnEnded() {}

  // One at a time. Dropped once the stream ends, as it does for a caller who may not make the call
  // any more.
  void Send(std::unique_ptr<Response> response) {
    if (const absl::Status status = call_.access().Check(); !status.ok()) {
      End(status);
      return;
    }
    const absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    writing_ = std::move(response);
    call_.Sent(writing_->ByteSizeLong());
    timeouts_.WritingSince(Clock::now());
    this->StartWrite(writing_.get());
  }

  // Who calls and may use what.
  [[nodiscard]] const CallAccess& access() const { return call_.access(); }

  // Ends the call once the message before has been sent. The first end counts.
  void End(const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    end_ = ToGrpcStatus(status);
    if (writing_ == nullptr) FinishNow();
  }

  // Ends the call as End does; a stream whose answers are still to be made waits for them.
  void OnDrainOver(const absl::Status& why) override { End(why); }
  // Of the call. Begin and OnEnded log with it; work on other threads has to (LogTrace).
  [[nodiscard]] const TraceContext& trace() const { return call_.trace(); }

  [[nodiscard]] bool ended() const {
    const absl::MutexLock lock(&mutex_);
    return end_.has_value();
  }

 private:
  using Clock = TimeoutWatch::Clock;

  [[nodiscard]] Clock::time_point FirstCheck() const {
    const absl::MutexLock lock(&mutex_);
    return timeouts_.NextCheck(Clock::now());
  }

  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finished_ = true;
    call_.Ending(*end_);
    this->Finish(*end_);
  }

  Clock::time_point CheckTime(Clock::time_point now) final {
    const absl::MutexLock lock(&mutex_);
    if (finished_) return TimeoutWatch::kNever;
    if (!timeouts_.TakesNothing(now)) return timeouts_.NextCheck(now);
    metrics_.timed_out_replies.Increment();
    context_.TryCancel();  // nothing that is said would be taken
    return TimeoutWatch::kNever;
  }

  void OnWriteDone(bool ok) final {
    std::unique_ptr<Response> written;
    {
      const absl::MutexLock lock(&mutex_);
      timeouts_.WritingEnded();
      written = std::move(writing_);
      if (!ok && !end_.has_value()) {  // the connection is gone
        end_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
      }
      if (end_.has_value()) {
        FinishNow();
        return;
      }
    }
    OnSent();
  }

  void OnCancel() final { End(absl::CancelledError("cancelled")); }

  void CancelForDrain() final {
    const absl::MutexLock lock(&mutex_);
    if (!finished_) context_.TryCancel();
  }

  void OnDone() final {
    {
      const absl::MutexLock lock(&mutex_);
      call_.Ended(end_.value_or(grpc::Status::CANCELLED));
    }
    watched_.reset();
    known_.reset();
    const LogTrace log_trace(trace());
    OnEnded();
    const std::shared_ptr<WriteStream> last = std::move(self_);
  }

  CallScope call_;
  grpc::CallbackServerContext& context_;  // until the call is finished
  const Metrics& metrics_;
  std::unique_ptr<TimeoutWatch::Entry> watched_;
  std::unique_ptr<ActiveCalls::Entry> known_;
  std::shared_ptr<WriteStream> self_;
  mutable absl::Mutex mutex_;
  StreamTimeouts timeouts_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Response> writing_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_
