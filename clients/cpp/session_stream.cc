// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session_stream.h"

#include "absl/strings/str_cat.h"
#include "clients/cpp/cancel_after.h"
#include "clients/cpp/rpc_status.h"

namespace voxloc::client {

absl::Status SessionStream::Open(const v1::OpenSession& open, double timeout_s,
                                 v1::SessionOpened* opened) {
  const CancelAfter deadline(&context_, timeout_s);
  rpc_ = stub_->AlignScans(&context_);
  v1::AlignScansRequest request;
  *request.mutable_open() = open;
  v1::AlignScansResponse response;
  if (!rpc_->Write(request) || !rpc_->Read(&response)) {
    const absl::Status status = Finish();
    if (deadline.fired()) {
      return absl::DeadlineExceededError(
          absl::StrCat(channel_.server(), " AlignScans: no answer to `open` in ", timeout_s, " s"));
    }
    if (!status.ok()) return status;
    return absl::InternalError(
        absl::StrCat(channel_.server(), " AlignScans: the stream ended before it was open"));
  }
  if (!response.has_opened()) {
    Cancel();
    return absl::InternalError(
        absl::StrCat(channel_.server(), " AlignScans: `open` was not answered by `opened`"));
  }
  *opened = response.opened();
  return absl::OkStatus();
}

absl::Status SessionStream::Finish() {
  return ToAbslStatus(rpc_->Finish(), channel_.server(), "AlignScans");
}

}  // namespace voxloc::client
