// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/delete_map.h"

#include "core/map/map_name.h"
#include "server/observe/logging.h"

namespace voxloc::server {

absl::Status DeleteMap(Runtime& runtime, const v1::DeleteMapRequest& request,
                       v1::DeleteMapResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  auto revision = runtime.library.Delete(request.map(), request.revision());
  if (!revision.ok()) return revision.status();
  runtime.tile_fits.Forget(request.map());
  response.set_revision(*revision);
  Log(LogLevel::kInfo, "map_deleted", {{"map", request.map()}, {"revision", *revision}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
