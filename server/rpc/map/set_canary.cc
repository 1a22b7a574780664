// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/set_canary.h"

#include "core/map/map_name.h"
#include "server/convert/map.h"
#include "server/observe/logging.h"

namespace voxloc::server {

absl::Status SetCanary(Runtime& runtime, const v1::SetCanaryRequest& request,
                       v1::SetCanaryResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  const auto vehicles = CanaryFromProto(request.vehicles(), "vehicles");
  if (!vehicles.ok()) return vehicles.status();
  const auto revision = runtime.library.SetCanary(request.map(), request.revision(), *vehicles);
  if (!revision.ok()) return revision.status();
  RevisionToProto(*revision, /*active=*/0, *response.mutable_revision());
  Log(LogLevel::kInfo, "canary_set",
      {{"map", request.map()}, {"revision", request.revision()}, {"vehicles", vehicles->size()}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
