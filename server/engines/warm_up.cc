// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "core/engine/self_test/self_test_scene.h"
#include "core/status/try.h"
#include "server/engines/engine_choice.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

absl::Status AlignOnce(Engine& engine) {
  const SelfTestScene scene = MakeSelfTestScene();
  const Profile profile = PreciseProfile();
  const std::vector<CellStatistics> statistics = RequiredStatistics({profile});
  VOXLOC_ASSIGN_OR_RETURN(auto tile, engine.BuildTile(scene.cloud_map, statistics));
  VOXLOC_ASSIGN_OR_RETURN(auto map, engine.Compose({&tile, 1}, statistics, nullptr));
  AlignJob job;
  job.map = map;
  job.scan = scene.scan;
  job.profile = profile;
  job.map_T_base_guess = scene.guesses.front();
  const size_t devices = std::max<size_t>(1, engine.Info().parts.size());
  for (const AlignResult& result : engine.Align(std::vector<AlignJob>(devices, job))) {
    if (!result.status.ok()) return result.status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WarmUp(Engine& engine) {
  const auto start = std::chrono::steady_clock::now();
  if (const absl::Status status = AlignOnce(engine); !status.ok()) {
    return {status.code(),
            absl::StrCat("the engine cannot align a first scan: ", status.message())};
  }
  Log(LogLevel::kInfo, "engine_warm",
      {{"engine", engine.Info().name},
       {"warm_up_s",
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
