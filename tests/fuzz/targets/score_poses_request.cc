// SPDX-License-Identifier: Apache-2.0
//
// A message of ScorePoses.

#include "server/convert/pose.h"
#include "server/session/session_setup.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/scoring.pb.h"

namespace voxloc {
namespace {

absl::Status TakeSetup(const v1::ScoreSetup& setup) {
  const server::RequestWorld& world = server::RequestWorld::Get();
  const auto checked = server::CheckSetup(world.config(), world.maps(), setup.setup());
  if (!checked.ok()) return checked.status();
  return server::ReceiveScan(setup.scan(), checked->source.recipe, checked->source.max_points);
}

absl::Status TakePoses(const v1::PoseSet& set) {
  for (int i = 0; i + 7 <= set.map_t_base_size(); i += 7) {
    const auto pose = server::PoseFromNumbers(set.map_t_base().data() + i, "pose");
    if (!pose.ok()) return pose.status();
    FuzzRequire(pose->translation.allFinite() && pose->rotation.coeffs().allFinite(),
                "a pose is finite");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzScorePosesRequest(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::ScorePosesRequest>(bytes);
  if (!request.ok()) return request.status();
  if (request->has_setup()) return TakeSetup(request->setup());
  return TakePoses(request->poses());
}

}  // namespace voxloc
