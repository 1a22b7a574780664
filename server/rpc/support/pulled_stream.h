// SPDX-License-Identifier: Apache-2.0
//
// PulledStream: a stream whose messages are made on a work queue, each when the client has taken
// the one before it. It owns its request: gRPC's ends with the call, which a cancellation ends
// while a message is being made.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_PULLED_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_PULLED_STREAM_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/rpc/support/write_stream.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

template <typename Request, typename Response>
class PulledStream : public WriteStream<Response>,
                     public std::enable_shared_from_this<PulledStream<Request, Response>> {
 public:
  PulledStream(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context,
               const Request& request, WorkQueue& queue)
      : WriteStream<Response>(runtime, method, context), request_(request), queue_(queue) {}

 protected:
  [[nodiscard]] const Request& request() const { return request_; }

  // The next message; null: there is none. On the queue, one call at a time.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Response>> Next() = 0;

 private:
  void Begin() final { PostNext(); }
  void OnSent() final { PostNext(); }

  void PostNext() {
    if (!queue_.Post([self = this->shared_from_this()] { self->Pull(); })) {
      this->End(absl::ResourceExhaustedError("too much map work waits"));
    }
  }

  void Pull() {
    if (this->ended()) return;  // the client has gone
    const LogTrace log_trace(this->trace());
    auto next = Next();
    if (!next.ok()) {
      this->End(next.status());
    } else if (*next == nullptr) {
      this->End(absl::OkStatus());
    } else {
      this->Send(*std::move(next));
    }
  }

  const Request request_;
  WorkQueue& queue_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_PULLED_STREAM_H_
