// SPDX-License-Identifier: Apache-2.0
//
// ServerCall: the base of all streaming calls, below gRPC's reactors (WriteStream, BidiStream). It
// owns the queue of outgoing messages, keeps to one write at a time, ends the call exactly once,
// and ends it by the timeouts of Limits where the client sends no message or reads no reply.
//
// Lifetime. The call is reference-counted: by gRPC until OnDone, and by work on other threads. A
// call may be cancelled at any time, also while work for it runs, and gRPC's own objects then end
// before it: the context and the request once the call is finished, a message after the callback
// that delivered it. Whatever is used later must be copied.
//
// Send, End and RetainUntilEnd may be called from any thread. gRPC does not call back from within
// its operations, so they are started under the lock, which orders them before the end. The On...
// functions are called on gRPC's threads and must be short.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_SERVER_CALL_H_
#define VOXLOC_SERVER_RPC_SUPPORT_SERVER_CALL_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/align.h"
#include "server/config/config.h"
#include "server/errors/error_details.h"
#include "server/lifecycle/active_calls.h"
#include "server/observe/seconds.h"
#include "server/rpc/support/call_scope.h"
#include "server/scheduling/limits.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

// StreamTimeouts: the read and write timeouts of a stream. They run only while the server waits for
// the client: while a read or a write is pending. Not thread-safe: guarded by its stream's lock.
class StreamTimeouts {
 public:
  using Clock = TimeoutWatch::Clock;

  explicit StreamTimeouts(const Limits& limits)
      : open_s_(limits.open_timeout_s), idle_s_(limits.idle_timeout_s) {}

  void ReadStarted(Clock::time_point now) { reading_since_ = now; }
  void ReadEnded() {
    begun_ = true;
    reading_since_ = TimeoutWatch::kNever;
  }
  void WriteStarted(Clock::time_point now) { writing_since_ = now; }
  void WriteEnded() { writing_since_ = TimeoutWatch::kNever; }

  // Whether a first message has come.
  [[nodiscard]] bool begun() const { return begun_; }

  // DeadlineExceeded: no message has arrived in time.
  [[nodiscard]] absl::Status CheckRead(Clock::time_point now) const {
    if (now < ReadDeadline()) return absl::OkStatus();
    const double timeout_s = begun_ ? idle_s_ : open_s_;
    return WithReason(
        absl::DeadlineExceededError(absl::StrCat(begun_ ? "a" : "the first",
                                                 " message must arrive within ", timeout_s, " s")),
        begun_ ? "IDLE_TIMEOUT" : "OPEN_TIMEOUT", {{"timeout_s", absl::StrCat(timeout_s)}});
  }

  // Whether the message that is being written has not been taken in time.
  [[nodiscard]] bool WriteTimedOut(Clock::time_point now) const { return now >= WriteDeadline(); }

  // The earliest later time at which a timeout can expire; ones that have expired are ignored.
  [[nodiscard]] Clock::time_point NextCheck(Clock::time_point now) const {
    // What begins after now.
    Clock::time_point next = After(now, idle_s_);
    if (!begun_) next = std::min(next, After(now, open_s_));
    for (const Clock::time_point by : {ReadDeadline(), WriteDeadline()}) {
      if (by > now) next = std::min(next, by);
    }
    return next;
  }

 private:
  // Never, where there is no timeout.
  static Clock::time_point After(Clock::time_point since, double timeout_s) {
    if (since == TimeoutWatch::kNever || timeout_s == 0.0) return TimeoutWatch::kNever;
    return since + ToDuration(timeout_s);
  }
  [[nodiscard]] Clock::time_point ReadDeadline() const {
    return After(reading_since_, begun_ ? idle_s_ : open_s_);
  }
  [[nodiscard]] Clock::time_point WriteDeadline() const { return After(writing_since_, idle_s_); }

  double open_s_;
  double idle_s_;
  bool begun_ = false;
  Clock::time_point reading_since_ = TimeoutWatch::kNever;
  Clock::time_point writing_since_ = TimeoutWatch::kNever;
};

class ServerCall : public TimeoutWatch::Watched, public DrainableCall {
 public:
  // Ends the call as End does; a stream whose answers are still to be made waits for them.
  void OnDrainDeadline(const absl::Status& why) override { End(why); }

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

  // Registers the call with the timeouts and the drain, and keeps it alive until OnDone.
  void Register(std::shared_ptr<ServerCall> self);

  // False: the client lags behind, and OnCaughtUp will be called. Dropped once the call ends.
  bool Send(std::unique_ptr<Message> message);

  // Ends the call once everything before it has been sent, and work that has begun is done. The
  // first end counts.
  void End(const absl::Status& status) {
    const absl::MutexLock lock(&call_mutex_);
    EndLocked(status);
  }

  [[nodiscard]] bool ended() const {
    const absl::MutexLock lock(&call_mutex_);
    return end_.has_value();
  }

  // Keeps an object, such as an Admission::Pass, until just before the client can learn that the
  // call is over. Its destructor must not call back.
  void RetainUntilEnd(std::shared_ptr<const void> held) {
    const absl::MutexLock lock(&call_mutex_);
    if (!finished_) retained_ = std::move(held);
  }

  // Retains a place. ResourceExhausted, counted by `rejected`: there is none (see LimitReached).
  [[nodiscard]] absl::Status RetainPass(Admission& admission, const Counter& rejected,
                                        absl::string_view what, absl::string_view reason);

  // Between both the call is not finished, however it ends. False: it has ended.
  [[nodiscard]] bool BeginWork() {
    const absl::MutexLock lock(&call_mutex_);
    working_ = !end_.has_value();
    return working_;
  }
  void EndWork() {
    const absl::MutexLock lock(&call_mutex_);
    working_ = false;
    FinishIfDone();
  }

  // Stops work for the call, by `stop_`. Done automatically when the call is cancelled or its
  // connection is lost.
  void StopWork() { stopped_->store(true, std::memory_order_relaxed); }

  // A client that lagged behind has caught up.
  virtual void OnCaughtUp() {}
  // The call is over. The last call.
  virtual void OnEnded() {}

  // The caller and its permissions.
  [[nodiscard]] CallAccess& access() { return call_.access(); }
  [[nodiscard]] const CallAccess& access() const { return call_.access(); }
  // Of the call. The On... calls and Begin log with it; work on other threads has to
  // (ScopedLogTrace).
  [[nodiscard]] const TraceContext& trace() const { return call_.trace(); }

  // The interface to the reactor: the operations it provides, and the handlers it calls.
  virtual void StartWriteOf(const Message& message) = 0;
  virtual void FinishWith(const grpc::Status& status) = 0;
  virtual void OnSent() {}  // a message is sent, and the client does not lag behind
  void HandleWriteDone(bool ok);
  void HandleCancel() {
    StopWork();
    End(absl::CancelledError("cancelled"));
  }
  void HandleDone();

  [[nodiscard]] bool IsLagging() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_) {
    return outgoing_.size() >= backlog_.messages || (!outgoing_.empty() && IsBudgetExhausted());
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
  [[nodiscard]] bool IsBudgetExhausted() const {
    return backlog_.budget != nullptr && backlog_.budget->exhausted();
  }

  [[nodiscard]] bool HasCaughtUp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_) {
    return outgoing_.empty() || (outgoing_.size() < backlog_.messages / 2 && !IsBudgetExhausted());
  }

  void RemoveBytes(const Outgoing& message) const {
    if (backlog_.budget != nullptr) backlog_.budget->Remove(message.bytes);
  }

  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_) {
    timeouts_.WriteStarted(Clock::now());
    StartWriteOf(*outgoing_.front().message);
  }
  void FinishIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_);
  Clock::time_point Poll(Clock::time_point now) final;
  void CancelForDrain() final {
    const absl::MutexLock lock(&call_mutex_);
    if (!finished_) context_.TryCancel();
  }

  const std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
  const Backlog backlog_;
  std::unique_ptr<TimeoutWatch::Entry> timeout_entry_;
  std::unique_ptr<ActiveCalls::Entry> active_entry_;
  std::shared_ptr<ServerCall> self_;
  std::shared_ptr<const void> retained_ ABSL_GUARDED_BY(call_mutex_);
  bool working_ ABSL_GUARDED_BY(call_mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(call_mutex_) = false;
  bool lagging_ ABSL_GUARDED_BY(call_mutex_) = false;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_SERVER_CALL_H_
