// SPDX-License-Identifier: Apache-2.0
//
// BidiStream: a ServerCall with a stream of requests, read one at a time. Reading pauses while
// kMaxBacklog replies wait for the client or, while the replies of all streams exceed their byte
// budget, while any reply waits. Each message is handled only if the caller is still permitted.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_BIDI_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_BIDI_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/observe/logging.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/method_handler.h"
#include "server/rpc/support/server_call.h"

namespace voxloc::server {

template <typename Request, typename Response>
class BidiStream : public grpc::ServerBidiReactor<ReadMessage<Request>, Response>,
                   public ServerCall {
 public:
  using RequestMessage = Request;
  using ResponseMessage = Response;

  BidiStream(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : ServerCall(runtime, method, context, {kMaxBacklog, &runtime.reply_bytes}) {}

  // gRPC gives its share of `self`, the stream, back when the call is done.
  void Launch(std::shared_ptr<BidiStream> self) {
    Register(std::move(self));
    const ScopedLogTrace log_trace(trace());
    absl::Status status = access().Check();
    if (absl::IsPermissionDenied(status) && call_.audited()) {
      // The first message says what the denied caller tried to change, for the audit log.
      Deny(status);
      return;
    }
    if (status.ok()) status = Begin();
    if (status.ok()) {
      ReadNext();
    } else {
      End(status);
    }
  }

 protected:
  // Starts reading the next message, at once or when the client has caught up.
  void ReadNext() {
    const absl::MutexLock lock(&call_mutex_);
    if (end_.has_value()) return;
    if (IsLagging()) {
      read_paused_ = true;
      (outgoing_.size() >= kMaxBacklog ? runtime_.metrics.paused_by_replies
                                       : runtime_.metrics.paused_by_bytes)
          .Increment();
      return;
    }
    StartReading();
  }

  // The first call, in the thread that made the stream. An error ends it.
  virtual absl::Status Begin() = 0;
  // Must lead to ReadNext or End.
  virtual void OnRequest(std::unique_ptr<Request> request) = 0;
  // The first message of a caller who is denied, for SetAudit.
  virtual void OnDenied(const Request& /*request*/) {}
  // The client sends no more. Must lead to End.
  virtual void OnHalfClose() = 0;

  // See CallScope.
  void SetAudit(const std::string& map, uint64_t revision, std::string detail) {
    const absl::MutexLock lock(&call_mutex_);
    call_.SetAudit(map, revision, std::move(detail));
  }
  void AuditSuccess(const std::string& map, uint64_t revision, std::string detail) {
    const absl::MutexLock lock(&call_mutex_);
    call_.AuditSuccess(map, revision, std::move(detail));
  }

 private:
  // Replies that may wait before reading pauses.
  static constexpr size_t kMaxBacklog = 64;

  // Reads only the first message, counted as an unopened stream meanwhile.
  void Deny(const absl::Status& status) {
    std::shared_ptr<void> pass = runtime_.unopened_streams.Enter();
    if (pass == nullptr) {
      End(status);
      return;
    }
    RetainUntilEnd(std::move(pass));
    {
      const absl::MutexLock lock(&call_mutex_);
      denied_ = status;
    }
    ReadNext();
  }

  void StartReading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(call_mutex_) {
    timeouts_.ReadStarted(Clock::now());
    incoming_ = std::make_unique<ReadMessage<Request>>();
    this->StartRead(incoming_.get());
  }

  void OnSent() final {
    const absl::MutexLock lock(&call_mutex_);
    if (!end_.has_value() && !IsLagging() && std::exchange(read_paused_, false)) StartReading();
  }

  void OnReadDone(bool ok) final {
    std::unique_ptr<ReadMessage<Request>> read;
    absl::Status denied;
    {
      const absl::MutexLock lock(&call_mutex_);
      timeouts_.ReadEnded();
      read = std::move(incoming_);
      denied = denied_;
    }
    const ScopedLogTrace log_trace(trace());
    if (!denied.ok()) {
      if (ok && read->parsed) OnDenied(*read->message);
      End(denied);
    } else if (ok && !read->parsed) {
      End(MalformedMessage());
    } else if (ok) {
      call_.Received(*read->message);
      if (const absl::Status status = access().Check(); !status.ok()) {
        End(status);
      } else {
        OnRequest(std::move(read->message));
      }
    } else if (!context_.IsCancelled()) {
      OnHalfClose();
    }
  }

  void StartWriteOf(const Message& message) final {
    this->StartWrite(static_cast<const Response*>(&message));
  }
  void FinishWith(const grpc::Status& status) final { this->Finish(status); }
  void OnWriteDone(bool ok) final { HandleWriteDone(ok); }
  void OnCancel() final { HandleCancel(); }
  void OnDone() final { HandleDone(); }

  std::unique_ptr<ReadMessage<Request>> incoming_ ABSL_GUARDED_BY(call_mutex_);
  bool read_paused_ ABSL_GUARDED_BY(call_mutex_) = false;
};

// The handler of a method that is served by a class derived from BidiStream.
template <typename Stream>
[[nodiscard]] MethodHandler* MakeBidiStreamHandler(Runtime& runtime, RpcMethod method) {
  using Request = ReadMessage<typename Stream::RequestMessage>;
  return new grpc::internal::CallbackBidiHandler<Request, typename Stream::ResponseMessage>(
      [&runtime, method](grpc::CallbackServerContext* context) {
        const auto stream = std::make_shared<Stream>(runtime, method, *context);
        stream->Launch(stream);
        return stream.get();
      });
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_BIDI_STREAM_H_
