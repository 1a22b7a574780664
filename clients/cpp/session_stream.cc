// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session_stream.h"

#include "absl/strings/str_cat.h"
#include "clients/cpp/cancel_after.h"

namespace voxloc::client {

SessionStream::SessionStream(const Channel& channel, const Endpoint& endpoint)
    : channel_(channel),
      endpoint_(endpoint),
      stub_(v1::LocalizationService::NewStub(endpoint.channel)),
      context_(channel.impl().NewContext()) {}

absl::Status SessionStream::Open(const v1::OpenSession& open, double timeout_s,
                                 v1::SessionOpened* opened) {
  const CancelAfter deadline(context_.get(), timeout_s);
  rpc_ = stub_->AlignScans(context_.get());
  v1::AlignScansRequest request;
  *request.mutable_open() = open;
  v1::AlignScansResponse response;
  if (!rpc_->Write(request) || !rpc_->Read(&response)) {
    const absl::Status status = Finish();
    if (deadline.fired()) {
      return absl::DeadlineExceededError(
          absl::StrCat(endpoint_.address, " AlignScans: no answer to `open` in ", timeout_s, " s"));
    }
    if (!status.ok()) return status;
    return absl::InternalError(
        absl::StrCat(endpoint_.address, " AlignScans: the stream ended before it was open"));
  }
  if (!response.has_opened()) {
    Cancel();
    return absl::InternalError(
        absl::StrCat(endpoint_.address, " AlignScans: `open` was not answered by `opened`"));
  }
  *opened = response.opened();
  return absl::OkStatus();
}

void SessionStream::Cancel() {
  cancelled_ = true;
  context_->TryCancel();
}

absl::Status SessionStream::Finish() {
  const grpc::Status end = rpc_->Finish();
  return channel_.impl().StatusOfStream(endpoint_, "AlignScans", end, cancelled_);
}

}  // namespace voxloc::client
