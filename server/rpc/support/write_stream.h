// SPDX-License-Identifier: Apache-2.0
//
// WriteStream: a ServerCall with one request and a stream of answers, sent one at a time: the next
// when OnCaughtUp says that the client has taken the one before it.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_
#define VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "server/observe/logging.h"
#include "server/rpc/support/server_call.h"

namespace voxloc::server {

template <typename Request, typename Response>
class WriteStream : public grpc::ServerWriteReactor<Response>, public ServerCall {
 public:
  WriteStream(Runtime& runtime, RpcMethod method, grpc::CallbackServerContext& context)
      : ServerCall(runtime, method, context, Backlog()) {
    timeouts_.ReadEnded();  // the request is there
  }

  // Hands the stream to gRPC, which gives its share of it back when the call is done. It begins if
  // the caller may use what the request names.
  static grpc::ServerWriteReactor<Response>* Launch(std::shared_ptr<WriteStream> stream,
                                                    const Request& request) {
    WriteStream* const reactor = stream.get();
    reactor->Register(std::move(stream));
    const ScopedLogTrace log_trace(reactor->trace());
    reactor->call_.Received(request);
    absl::Status status = Admit(reactor->call_, request);
    if (status.ok()) status = reactor->Begin(request);
    if (!status.ok()) reactor->End(status);
    return reactor;
  }

 protected:
  // The first call, in the thread that made the stream. An error ends it. The request is gRPC's.
  virtual absl::Status Begin(const Request& request) = 0;

  // As ServerCall's, of a caller who may still make the call.
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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_WRITE_STREAM_H_
