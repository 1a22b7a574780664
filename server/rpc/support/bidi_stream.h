// SPDX-License-Identifier: Apache-2.0
//
// BidiStream: what every stream in both directions has in common. It owns the queue of outgoing
// messages, keeps to one read and one write at a time, ends the call exactly once, and lives until
// gRPC and everyone else who holds it have let go.
//
// A client that leaves messages waiting is read from again once it has taken them: when there are
// many, and, while the messages of all streams have more bytes than their budget, when there is
// any. A client that does not begin, falls silent while it is its turn, or takes nothing is given
// up after the timeouts of Limits.
//
// Send, End and ReadNext may be called from any thread; gRPC never calls back from within them, so
// they may call it with the lock held, which keeps every operation before the end. The On... calls
// come on gRPC's threads and must be short. A message is taken if the caller may still make the
// call by then.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_BIDI_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_BIDI_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/convert/status.h"
#include "server/lifecycle/active_calls.h"
#include "server/observe/logging.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/read_message.h"
#include "server/rpc/support/stream_timeouts.h"
#include "server/scheduling/byte_limits.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

template <typename Request, typename Response>
class BidiStream : public grpc::ServerBidiReactor<ReadMessage<Request>, Response>,
                   public TimeoutWatch::Watched,
                   public DrainedCall {
 public:
  BidiStream(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : call_(runtime, method, context),
        context_(context),
        metrics_(runtime.metrics),
        waiting_bytes_(runtime.reply_bytes),
        timeouts_(*runtime.live.limits()) {}

  // Hands the stream to gRPC, which gives its share of it back when the call is done.
  template <typename Stream>
  static grpc::ServerBidiReactor<ReadMessage<Request>, Response>* Launch(
      Runtime& runtime, std::shared_ptr<Stream> stream) {
    BidiStream* const reactor = stream.get();
    reactor->watched_ =
        runtime.timeouts.Add(std::weak_ptr<TimeoutWatch::Watched>(stream), reactor->FirstCheck());
    reactor->known_ = runtime.calls.Add(stream);
    reactor->self_ = std::move(stream);
    const LogTrace log_trace(reactor->trace());
    if (const absl::Status status = reactor->access().Check(); status.ok()) {
      reactor->Begin();
    } else if (absl::IsPermissionDenied(status) && reactor->call_.audited()) {
      // The audit log tells what a known caller wanted to change, which the first message says.
      reactor->Deny(runtime, status);
    } else {
      reactor->End(status);
    }
    return reactor;
  }

 protected:
  // A stream that lags this far behind is not read from until it has caught up.
  static constexpr size_t kMaxBacklog = 64;

  // Asks for the next message, at once or when the client has taken what it was sent.
  void ReadNext() {
    const absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    if (Lags()) {
      read_held_ = true;
      (outgoing_.size() >= kMaxBacklog ? metrics_.paused_by_replies : metrics_.paused_by_bytes)
          .Increment();
      return;
    }
    StartReading();
  }

  // False: the client lags behind, and OnCaughtUp will be called. Dropped once the stream ends.
  bool Send(std::unique_ptr<Response> response) {
    const size_t bytes = response->ByteSizeLong();
    const absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return true;
    call_.Sent(bytes);
    waiting_bytes_.Add(bytes);
    outgoing_.push_back({std::move(response), bytes});
    if (outgoing_.size() == 1) StartWriting();
    lagging_ = lagging_ || Lags();
    return !lagging_;
  }

  // Keeps what the stream occupies, such as a place among those allowed, until just before the
  // client can learn that the call is over. What is held must not call the stream as it goes.
  void Hold(std::shared_ptr<void> held) {
    const absl::MutexLock lock(&mutex_);
    if (!finished_) held_ = std::move(held);
  }

  // Ends the call once everything before it has been sent. The first end counts.
  void End(const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    EndNow(status);
  }

  // Ends the call as End does; a stream whose answers are still to be made waits for them.
  void OnDrainOver(const absl::Status& why) override { End(why); }

  [[nodiscard]] bool ended() const {
    const absl::MutexLock lock(&mutex_);
    return end_.has_value();
  }

  // The first call, in the thread that made the stream. Must lead to ReadNext or End.
  virtual void Begin() { ReadNext(); }
  virtual void OnRequest(std::unique_ptr<Request> request) = 0;
  // The first message of a caller who is denied, for NoteForAudit.
  virtual void OnDenied(const Request& /*request*/) {}
  // The client sends no more. Must lead to End.
  virtual void OnHalfClose() = 0;
  virtual void OnCaughtUp() {}
  // The call has been cancelled, by the client, its deadline or the server's end.
  virtual void OnGone() {}
  // The call is over. The last call.
  virtual void OnEnded() {}

  grpc::CallbackServerContext& context() const { return context_; }
  // Who calls and may use what.
  CallAccess& access() { return call_.access(); }
  // See CallScope.
  void NoteForAudit(const std::string& map, uint64_t revision, std::string detail) {
    const absl::MutexLock lock(&mutex_);
    call_.Note(map, revision, std::move(detail));
  }
  void DoneForAudit(const std::string& map, uint64_t revision, std::string detail) {
    const absl::MutexLock lock(&mutex_);
    call_.Done(map, revision, std::move(detail));
  }
  // Of the call. On... and Begin log with it; work on other threads has to (LogTrace).
  [[nodiscard]] const TraceContext& trace() const { return call_.trace(); }

 private:
  using Clock = TimeoutWatch::Clock;

  [[nodiscard]] Clock::time_point FirstCheck() const {
    const absl::MutexLock lock(&mutex_);
    return timeouts_.NextCheck(Clock::now());
  }

  struct Outgoing {
    std::unique_ptr<Response> message;
    size_t bytes = 0;
  };

  [[nodiscard]] bool Lags() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outgoing_.size() >= kMaxBacklog || (!outgoing_.empty() && waiting_bytes_.spent());
  }

  [[nodiscard]] bool HasCaughtUp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outgoing_.empty() || (outgoing_.size() < kMaxBacklog / 2 && !waiting_bytes_.spent());
  }

  // Waits for the first message only, as one of the streams that have not been opened.
  void Deny(Runtime& runtime, const absl::Status& status) {
    std::shared_ptr<void> pass = runtime.unopened_streams.Enter();
    if (pass == nullptr) {
      End(status);
      return;
    }
    Hold(std::move(pass));
    {
      const absl::MutexLock lock(&mutex_);
      denied_ = status;
    }
    ReadNext();
  }

  void EndNow(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (end_.has_value()) return;
    end_ = ToGrpcStatus(denied_.ok() ? status : denied_);
    if (outgoing_.empty()) FinishNow();
  }

  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finished_ = true;
    held_.reset();
    call_.Ending(*end_);
    this->Finish(*end_);
  }

  void StartReading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    timeouts_.ReadingSince(Clock::now());
    incoming_ = std::make_unique<ReadMessage<Request>>();
    this->StartRead(incoming_.get());
  }

  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    timeouts_.WritingSince(Clock::now());
    this->StartWrite(outgoing_.front().message.get());
  }

  Clock::time_point CheckTime(Clock::time_point now) final {
    const absl::MutexLock lock(&mutex_);
    if (finished_) return TimeoutWatch::kNever;
    if (timeouts_.TakesNothing(now)) {
      metrics_.timed_out_replies.Increment();
      context_.TryCancel();  // nothing that is said would be taken
      return TimeoutWatch::kNever;
    }
    if (const absl::Status status = timeouts_.SendsNothing(now); !status.ok() && !end_) {
      (timeouts_.begun() ? metrics_.timed_out_idle : metrics_.timed_out_open).Increment();
      EndNow(status);
    }
    return timeouts_.NextCheck(now);
  }

  void OnReadDone(bool ok) final {
    std::unique_ptr<ReadMessage<Request>> read;
    absl::Status denied;
    {
      const absl::MutexLock lock(&mutex_);
      timeouts_.ReadingEnded();
      read = std::move(incoming_);
      denied = denied_;
    }
    const LogTrace log_trace(trace());
    if (!denied.ok()) {
      if (ok && read->parsed) OnDenied(*read->message);
      End(denied);
      return;
    }
    if (ok && !read->parsed) {
      End(MalformedMessage());
    } else if (ok) {
      std::unique_ptr<Request> request = std::move(read->message);
      call_.Received(*request);
      if (const absl::Status status = access().Check(); !status.ok()) {
        End(status);
        return;
      }
      OnRequest(std::move(request));
    } else if (!context_.IsCancelled()) {
      OnHalfClose();
    }
  }

  void OnWriteDone(bool ok) final {
    std::unique_ptr<Response> written;
    std::deque<Outgoing> dropped;
    bool caught_up = false;
    {
      const absl::MutexLock lock(&mutex_);
      timeouts_.WritingEnded();
      waiting_bytes_.Remove(outgoing_.front().bytes);
      written = std::move(outgoing_.front().message);
      outgoing_.pop_front();
      if (!ok) {  // the connection is gone
        dropped.swap(outgoing_);
        for (const Outgoing& message : dropped) waiting_bytes_.Remove(message.bytes);
        if (!end_.has_value()) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
      }
      if (!outgoing_.empty()) {
        StartWriting();
      } else if (end_.has_value()) {
        FinishNow();
      }
      if (HasCaughtUp() && !end_.has_value()) {
        caught_up = std::exchange(lagging_, false);
        if (std::exchange(read_held_, false)) StartReading();
      }
    }
    if (caught_up) OnCaughtUp();
  }

  void OnCancel() final {
    OnGone();
    End(absl::CancelledError("cancelled"));
  }

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
    const std::shared_ptr<BidiStream> last = std::move(self_);
  }

  absl::Status denied_ ABSL_GUARDED_BY(mutex_);  // how a stream ends that is read for the audit log
  CallScope call_;
  grpc::CallbackServerContext& context_;  // until the call is finished
  const Metrics& metrics_;
  ByteBudget& waiting_bytes_;
  std::unique_ptr<TimeoutWatch::Entry> watched_;
  std::unique_ptr<ActiveCalls::Entry> known_;
  std::shared_ptr<BidiStream> self_;
  mutable absl::Mutex mutex_;
  StreamTimeouts timeouts_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ReadMessage<Request>> incoming_ ABSL_GUARDED_BY(mutex_);
  // The first is being written.
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<void> held_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool lagging_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_held_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_BIDI_STREAM_H_
