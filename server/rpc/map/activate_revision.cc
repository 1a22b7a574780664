// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/activate_revision.h"

#include "core/map/map_name.h"
#include "server/convert/map.h"
#include "server/observe/logging.h"

namespace voxloc::server {

absl::Status ActivateRevision(Runtime& runtime, const v1::ActivateRevisionRequest& request,
                              v1::ActivateRevisionResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  const auto view = runtime.library.Activate(request.map(), request.revision());
  if (!view.ok()) return view.status();
  MapInfoToProto(*view, *response.mutable_map());
  Log(LogLevel::kInfo, "revision_activated",
      {{"map", request.map()}, {"revision", request.revision()}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
