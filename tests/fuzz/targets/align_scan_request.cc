// SPDX-License-Identifier: Apache-2.0
//
// The request of AlignScan.

#include "server/session/session_setup.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc {

absl::Status FuzzAlignScanRequest(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::AlignScanRequest>(bytes);
  if (!request.ok()) return request.status();
  const server::RequestWorld& world = server::RequestWorld::Get();
  const auto setup = server::CheckSetup(world.config(), world.maps(), request->setup());
  if (!setup.ok()) return setup.status();
  FuzzRequire(!setup->profile_on_map.stages.empty(), "a profile has stages");
  return server::ReceiveScan(request->scan(), setup->source.recipe, setup->source.max_points);
}

}  // namespace voxloc
