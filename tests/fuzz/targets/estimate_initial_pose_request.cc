// SPDX-License-Identifier: Apache-2.0
//
// The request of EstimateInitialPose.

#include <variant>

#include "server/convert/options.h"
#include "server/convert/range.h"
#include "server/convert/search.h"
#include "server/session/session_setup.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/request_world.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc {

absl::Status FuzzEstimateInitialPoseRequest(absl::string_view bytes) {
  const auto request = server::ParseRequest<v1::EstimateInitialPoseRequest>(bytes);
  if (!request.ok()) return request.status();
  const server::RequestWorld& world = server::RequestWorld::Get();
  const server::Limits& limits = world.config().limits;
  const auto setup = server::CheckSetup(world.config(), world.maps(), request->setup());
  if (!setup.ok()) return setup.status();
  const auto scope = server::SearchScopeFromProto(*request, limits.max_particles, setup->map);
  if (!scope.ok()) return scope.status();
  if (const auto* prior = std::get_if<PriorSearchOptions>(&*scope)) {
    FuzzRequire(prior->particles <= limits.max_particles, "particles are limited");
    FuzzRequire(prior->covariance.allFinite(), "a covariance is finite");
  }
  const auto hypotheses = server::HypothesisOptionsFromProto(request->search());
  if (!hypotheses.ok()) return hypotheses.status();
  const absl::Status timeout = server::CheckSeconds("timeout_s", request->timeout_s());
  if (!timeout.ok()) return timeout;
  return server::ReceiveScan(request->scan(), setup->source.recipe, setup->source.max_points);
}

}  // namespace voxloc
