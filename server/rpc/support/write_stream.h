// SPDX-License-Identifier: Apache-2.0
//
// WriteStream: a ServerCall with one request and a stream of answers, sent one at a time: the next
// when OnCaughtUp says that the client has taken the one before it.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/rpc/support/method_handler.h"
#include "server/rpc/support/server_call.h"
#include "server/scheduling/limits.h"

namespace voxloc::server {

template <typename Request, typename Response>
class WriteStream : public grpc::ServerWriteReactor<Response>, public ServerCall {
 public:
  using RequestMessage = Request;
  using ResponseMessage = Response;

  WriteStream(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : ServerCall(runtime, method, context, Backlog()) {
    timeouts_.ReadEnded();  // the request is there
  }

  // gRPC gives its share of `self`, the stream, back when the call is done. The stream begins if
  // the caller may use what the request names.
  void Launch(std::shared_ptr<WriteStream> self, const Request& request) {
    Register(std::move(self));
    const ScopedLogTrace log_trace(trace());
    call_.Received(request);
    absl::Status status = Admit(call_, request);
    if (status.ok()) status = Begin(request);
    if (!status.ok()) End(status);
  }

 protected:
  // The first call, in the thread that made the stream. An error ends it. The request is gRPC's.
  virtual absl::Status Begin(const Request& request) = 0;

  // Sends as ServerCall does, if the caller may still make the call; otherwise ends the stream.
  void Send(std::unique_ptr<Response> response) {
    if (const absl::Status status = access().Check(); !status.ok()) {
      End(status);
    } else {
      ServerCall::Send(std::move(response));
    }
  }

 private:
  void StartWriteOf(const Message& message) final {
    this->StartWrite(static_cast<const Response*>(&message));
  }
  void FinishWith(const grpc::Status& status) final { this->Finish(status); }
  void OnWriteDone(bool ok) final { HandleWriteDone(ok); }
  void OnCancel() final { HandleCancel(); }
  void OnDone() final { HandleDone(); }
};

// The handler of a method that is served by a class derived from WriteStream.
template <typename Stream>
[[nodiscard]] MethodHandler* MakeWriteStreamHandler(Runtime& runtime, RpcMethod method) {
  using Request = typename Stream::RequestMessage;
  return MakeWriteHandler<Request, typename Stream::ResponseMessage>(
      [&runtime, method](grpc::CallbackServerContext* context, const Request* request) {
        const auto stream = std::make_shared<Stream>(runtime, method, *context);
        stream->Launch(stream, *request);
        return stream.get();
      },
      RejectMalformed(runtime, method));
}

// PulledStream: a stream of a map's content. Each message is made on the reading queue, once the
// client has taken the one before it. It owns a copy of its request (ServerCall, Lifetime).
//
// There are at most Limits.max_map_readers of them, and the bytes of maps that they all keep for
// their clients are bounded by Limits.max_reply_bytes: see ReserveBytes.
template <typename Request, typename Response>
class PulledStream : public WriteStream<Request, Response>,
                     public std::enable_shared_from_this<PulledStream<Request, Response>> {
 public:
  using WriteStream<Request, Response>::WriteStream;

 protected:
  using ServerCall::runtime_;
  [[nodiscard]] const Request& request() const { return request_; }

  // The next message. Null: the end, or ReserveBytes has returned false. On the queue's thread.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Response>> Next() = 0;

  // For Next: reserves bytes in place of those reserved before. False: Next must drop its data and
  // return null; it is called again once the bytes are granted.
  [[nodiscard]] bool ReserveBytes(uint64_t bytes) {
    waiting_ = !reservation_->Request(bytes);
    return !waiting_;
  }

 private:
  absl::Status Begin(const Request& request) final {
    request_ = request;
    pass_ = runtime_.map_readers.Enter();
    if (pass_ == nullptr) return AtLimit("are open");
    reservation_.emplace(runtime_.map_read_bytes, [weak = this->weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr) self->PostNext();
    });
    PostNext();
    return absl::OkStatus();
  }
  void OnCaughtUp() final { PostNext(); }

  void PostNext() {
    if (!runtime_.reading.Post([self = this->shared_from_this()] { self->Pull(); })) {
      this->End(AtLimit("wait for their turn"));
    }
  }

  absl::Status AtLimit(absl::string_view what) {
    const uint32_t limit = runtime_.map_readers.limit();
    runtime_.metrics.rejected_map_readers.Increment();
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          limit, " calls of GetTiles and GetCells ", what, ", the limit")),
                      "TOO_MANY_MAP_READERS", {{"limit", absl::StrCat(limit)}});
  }

  void Pull() {
    if (this->ended()) return;  // the client has gone
    const ScopedLogTrace log_trace(this->trace());
    waiting_ = false;
    auto next = Next();
    if (!next.ok()) {
      this->End(next.status());
    } else if (*next != nullptr) {
      this->Send(*std::move(next));
    } else if (!waiting_) {
      this->End(absl::OkStatus());
    }
  }

  Request request_;
  Admission::Pass pass_;
  std::optional<ByteQuota::Reservation> reservation_;
  bool waiting_ = false;  // for it; of the queue's thread
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_
