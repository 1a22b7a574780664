// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/get_map.h"

#include "server/convert/map.h"

namespace voxloc::server {

absl::Status GetMap(const Runtime& runtime, const v1::GetMapRequest& request,
                    v1::GetMapResponse& response) {
  auto view = runtime.maps.FindAtLeast(request.map(), 0);
  if (!view.ok()) return view.status();
  MapInfoToProto(*view, *response.mutable_map());
  return absl::OkStatus();
}

}  // namespace voxloc::server
