// SPDX-License-Identifier: Apache-2.0
//
// One AlignScans stream, from `open` to its end. A session that reconnects has several, one after
// another. Read by one thread and written by one thread at a time. Included by this library's
// sources only.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_STREAM_H_
#define VOXLOC_CLIENTS_CPP_SESSION_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "clients/cpp/channel_impl.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {

class SessionStream {
 public:
  // The endpoint is one of the channel's.
  SessionStream(const Channel& channel, const Endpoint& endpoint);

  // Starts the stream, sends `open` and waits for `opened`.
  [[nodiscard]] absl::Status Open(const v1::OpenSession& open, double timeout_s,
                                  v1::SessionOpened* opened);

  // False: the stream is broken; the reader will learn why.
  bool Write(const v1::AlignScansRequest& request) { return rpc_->Write(request); }
  bool WritesDone() { return rpc_->WritesDone(); }

  // False: the stream has ended; Finish says how.
  bool Read(v1::AlignScansResponse* response) { return rpc_->Read(response); }
  [[nodiscard]] absl::Status Finish();

  // From any thread, at any time.
  void Cancel();

 private:
  const Channel channel_;
  const Endpoint& endpoint_;
  const std::unique_ptr<v1::LocalizationService::Stub> stub_;
  const std::unique_ptr<grpc::ClientContext> context_;
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<grpc::ClientReaderWriter<v1::AlignScansRequest, v1::AlignScansResponse>> rpc_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_STREAM_H_
