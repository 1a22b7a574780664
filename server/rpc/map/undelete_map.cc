// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/undelete_map.h"

#include "core/map/map_name.h"
#include "server/convert/map.h"
#include "server/observe/logging.h"

namespace voxloc::server {

absl::Status UndeleteMap(Runtime& runtime, const v1::UndeleteMapRequest& request,
                         v1::UndeleteMapResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  const auto view = runtime.library.Undelete(request.map());
  if (!view.ok()) return view.status();
  MapInfoToProto(*view, *response.mutable_map());
  Log(LogLevel::kInfo, "map_undeleted",
      {{"map", request.map()}, {"revision", response.map().revision()}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
