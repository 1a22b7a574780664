// SPDX-License-Identifier: Apache-2.0
//
// ServerCall: what every call with a stream has in common, below gRPC's reactors (WriteStream,
// BidiStream). It owns the queue of outgoing messages, keeps to one write at a time, ends the call
// exactly once, and gives up a client that does not begin, falls silent while it is its turn, or
// takes nothing, after the timeouts of Limits.
//
// Lifetime. The call lives until gRPC and everyone else who holds a shared pointer to it have let
// go, so work on other threads holds one. A call may be cancelled at any step, also while work for
// it runs, and gRPC's own objects then end before it: the context and the one request of a call
// once it is finished, a message with the reaction that brought it. What is used later is copied.
//
// Send, End and Hold may be called from any thread; gRPC never calls back from within its
// operations, so they are started with the lock held, which keeps every operation before the end.
// The On... calls come on gRPC's threads and must be short.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_SERVER_CALL_H_
#define VOXLOC_SERVER_RPC_SUPPORT_SERVER_CALL_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/align.h"
#include "server/lifecycle/active_calls.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/stream_timeouts.h"
#include "server/scheduling/byte_limits.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class ServerCall : public TimeoutWatch::Watched, public DrainedCall {
 public:
  // Ends the call as End does; a stream whose answers are still to be made waits for them.
  void OnDrainOver(const absl::Status& why) override { End(why); }

 protected:
  using Clock = TimeoutWatch::Clock;
  using Message = google::protobuf::MessageLite;

  // How far a client may lag behind.
  struct Backlog {
    size_t messages = 1;           // that wait, before the client counts as lagging
    ByteBudget* budget = nullptr;  // of the bytes of all streams that wait; null: not counted
  };

  ServerCall(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context,
             const Backlog& backlog);

  // Makes the call known to the timeouts and to the drain, and keeps it until gRPC is done with it.
  void Register(std::shared_ptr<ServerCall> self);

  // False: the client lags behind, and OnCaughtUp will be called. Dropped once the call ends.
  bool Send(std::unique_ptr<Message> message);

  // Ends the call once everything before it has been sent, and work that has begun is done. The
  // first end counts.
  void End(const absl::Status& status);

  [[nodiscard]] bool ended() const {
    const absl::MutexLock lock(&call_mutex_);
    return end_.has_value();
  }

  // Keeps what the call occupies, such as a place among those allowed, until just before the client
  // can learn that the call is over. What is held must not call back as it goes.
  void Hold(std::shared_ptr<void> held);

  // Between the two the call is not finished, however it ends. False: it has ended.
  [[nodiscard]] bool BeginWork();
  void EndWork();

  // Stops what works for the call, by `stop_`. A call that is cancelled, by the client, its
  // deadline or the server's end, or whose connection is gone, does so itself.
  void StopWork() { stopped_->store(true, std::memory_order_relaxed); }

  // A client that lagged behind has caught up.
  virtual void OnCaughtUp() {}
  // The call is over. The last call.
  virtual void OnEnded() {}

  // Who calls and may use what.
  [[nodiscard]] CallAccess& access() { return call_.access(); }
  [[nodiscard]] const CallAccess& access() const { return call_.access(); }
  // Of the call. The On... calls and Begin log with it; work on other threads has to (LogTrace).
  [[nodiscard]] const TraceContext& trace() const { return call_.trace(); }

  // What the reactor does: its operations, and what its reactions call.
  virtual void StartWriteOf(const Message& message) = 0;
  virtual void FinishWith(const grpc::Status& status) = 0;
  virtual void OnSent() {}  // a message is sent, and the client does not lag behind
  void HandleWriteDone(bool ok);
  void HandleCancel();
  void HandleDone();

  [[nodiscard]] bool Lags() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_) {
    return outgoing_.size() >= backlog_.messages || (!outgoing_.empty() && BudgetIsSpent());
  }

  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_);

  struct Outgoing {
    std::unique_ptr<Message> message;
    size_t bytes = 0;
  };

  Runtime& runtime_;
  CallScope call_;
  StopToken stop_;
  grpc::CallbackServerContext& context_;  // until the call is finished
  mutable absl::Mutex call_mutex_;
  StreamTimeouts timeouts_ ABSL_GUARDED_BY(call_mutex_);
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(call_mutex_);  // the first is being written
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(call_mutex_);
  absl::Status denied_ ABSL_GUARDED_BY(call_mutex_);  // not OK: how the call ends, whatever ends it

 private:
  [[nodiscard]] bool BudgetIsSpent() const {
    return backlog_.budget != nullptr && backlog_.budget->spent();
  }

  [[nodiscard]] bool HasCaughtUp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_) {
    return outgoing_.empty() || (outgoing_.size() < backlog_.messages / 2 && !BudgetIsSpent());
  }

  void RemoveBytes(const Outgoing& message) const {
    if (backlog_.budget != nullptr) backlog_.budget->Remove(message.bytes);
  }

  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_);
  void FinishIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_);
  Clock::time_point CheckTime(Clock::time_point now) final;
  void CancelForDrain() final;

  const std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
  const Backlog backlog_;
  std::unique_ptr<TimeoutWatch::Entry> watched_;
  std::unique_ptr<ActiveCalls::Entry> known_;
  std::shared_ptr<ServerCall> self_;
  std::shared_ptr<void> held_ ABSL_GUARDED_BY(call_mutex_);
  bool working_ ABSL_GUARDED_BY(call_mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(call_mutex_) = false;
  bool lagging_ ABSL_GUARDED_BY(call_mutex_) = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_SERVER_CALL_H_
