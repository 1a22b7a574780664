// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/map/list_revisions.h"

#include "core/map/map_name.h"
#include "server/convert/map.h"

namespace voxloc::server {

absl::Status ListRevisions(Runtime& runtime, const v1::ListRevisionsRequest& request,
                           v1::ListRevisionsResponse& response) {
  if (absl::Status status = ValidateMapName(request.map()); !status.ok()) return status;
  const auto map = runtime.library.store().GetMap(request.map());
  if (!map.ok()) return map.status();
  for (const StoredRevision& revision : map->revisions) {
    RevisionToProto(revision, map->active_revision, *response.add_revisions());
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
