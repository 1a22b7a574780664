// SPDX-License-Identifier: Apache-2.0
//
// The other requests about maps: the same bytes as each of them.

#include "core/map/map_name.h"
#include "server/convert/map.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc {
namespace {

template <typename Request>
absl::Status TakeRegion(absl::string_view bytes) {
  const auto request = server::ParseRequest<Request>(bytes);
  if (!request.ok()) return request.status();
  if (absl::Status status = ValidateMapName(request->map()); !status.ok()) return status;
  const auto region = server::RegionFromProto(*request);
  if (!region.ok()) return region.status();
  if (!region->has_value()) return absl::OkStatus();
  FuzzRequire(((*region)->min.array() <= (*region)->max.array()).all(), "a region is a box");
  Bounds bounds;
  bounds.min.setZero();
  bounds.max.setOnes();
  bounds.finite_points = 1;
  (void)server::Touches(bounds, **region);
  return absl::OkStatus();
}

absl::Status TakeCanary(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::SetCanaryRequest>(bytes);
  if (!request.ok()) return request.status();
  if (absl::Status status = ValidateMapName(request->map()); !status.ok()) return status;
  return server::CanaryFromProto(request->vehicles(), "vehicles").status();
}

}  // namespace

absl::Status FuzzMapRequest(absl::string_view bytes) {
  absl::Status accepted = TakeRegion<v1::ListTilesRequest>(bytes);
  for (const absl::Status& status : {TakeRegion<v1::GetTilesRequest>(bytes),
                                     TakeRegion<v1::GetCellsRequest>(bytes), TakeCanary(bytes)}) {
    if (status.ok()) accepted = status;
  }
  return accepted;
}

}  // namespace voxloc
