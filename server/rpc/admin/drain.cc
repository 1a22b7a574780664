// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/drain.h"

#include "absl/strings/str_cat.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

// Of the contract.
constexpr size_t kMostReasonBytes = 256;

}  // namespace

absl::Status BeginDrain(Runtime& runtime, const v1::DrainRequest& request,
                        v1::DrainResponse& response) {
  const double grace_s = request.grace_s();
  if (absl::Status status = CheckRange("grace_s", grace_s, 0.0, kMaxSeconds); !status.ok()) {
    return status;
  }
  if (request.reason().size() > kMostReasonBytes) {
    return absl::InvalidArgumentError(absl::StrCat("reason must have at most ", kMostReasonBytes,
                                                   " bytes (got ", request.reason().size(), ")"));
  }
  const DrainProgress progress = runtime.drain.Begin(
      grace_s, request.reason().empty() ? "the server is being drained" : request.reason());
  response.set_open_sessions(static_cast<uint32_t>(progress.open_sessions));
  response.set_remaining_s(progress.remaining_s);
  return absl::OkStatus();
}

absl::Status EndDrain(Runtime& runtime, const v1::UndrainRequest& /*request*/,
                      v1::UndrainResponse& response) {
  if (absl::Status status = runtime.drain.TakeBack(); !status.ok()) return status;
  response.set_open_sessions(static_cast<uint32_t>(runtime.sessions.open()));
  return absl::OkStatus();
}

}  // namespace voxloc::server
