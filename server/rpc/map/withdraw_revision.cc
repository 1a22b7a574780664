// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/withdraw_revision.h"

#include "core/map/map_name.h"
#include "server/convert/map.h"
#include "server/observe/logging.h"

namespace voxloc::server {

absl::Status WithdrawRevision(Runtime& runtime, const v1::WithdrawRevisionRequest& request,
                              v1::WithdrawRevisionResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  const auto revision = runtime.library.Withdraw(request.map(), request.revision());
  if (!revision.ok()) return revision.status();
  RevisionToProto(*revision, /*active=*/0, *response.mutable_revision());
  Log(LogLevel::kInfo, "revision_withdrawn",
      {{"map", request.map()}, {"revision", request.revision()}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
