// SPDX-License-Identifier: Apache-2.0

#include "server/engines/engine_choice.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/engine/profile.h"
#include "core/engine/self_test/self_test.h"
#include "core/status/try.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

EngineChoice ChooseCpu(const Config& config, const EngineSource& source, std::string note,
                       absl::string_view reason) {
  Log(LogLevel::kInfo, "engine_chosen",
      {{"engine", "cpu"}, {"asked", config.engine}, {"reason", reason}});
  return {source.make_cpu(), {}, std::move(note)};
}

absl::Status CheckDevices(const Config& config, int devices) {
  for (const uint32_t device : config.devices) {
    if (device < static_cast<uint32_t>(devices)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("devices must be ",
                     devices == 1 ? std::string("0") : absl::StrCat("from 0 to ", devices - 1),
                     " (got '", absl::StrJoin(config.devices, ","), "')"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CpuReason(const Config& config, const EngineSource& source) {
  if (config.engine == "cpu") return "asked for";
  std::string reason = "this build has no CUDA engine";
  if (source.count_gpus) {
    std::string no_gpu_reason;
    const int devices = source.count_gpus(&no_gpu_reason);
    if (devices > 0) {
      VOXLOC_TRY(CheckDevices(config, devices));
      return "";
    }
    reason = absl::StrCat("no GPU can be used: ", no_gpu_reason);
  }
  if (config.engine != "cuda") return reason;
  return absl::FailedPreconditionError(
      absl::StrCat("engine is 'cuda', but ", reason, "; use --engine=cpu or --engine=auto"));
}

absl::StatusOr<EngineChoice> ChooseEngine(const Config& config, const EngineSource& source) {
  VOXLOC_ASSIGN_OR_RETURN(const auto reason, CpuReason(config, source));
  if (!reason.empty()) return ChooseCpu(config, source, "", reason);

  EngineChoice choice;
  // Of the devices that start and agree with the CPU engine.
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::string> excluded;
  const auto exclude = [&](uint32_t device, absl::string_view how, const absl::Status& status) {
    Log(LogLevel::kError, "gpu_left_out",
        {{"device", device}, {"reason", how}, {"error", status.message()}});
    excluded.push_back(absl::StrCat("GPU ", device, " ", how, ": ", status.message()));
  };
  for (const uint32_t device : config.devices) {
    auto engine = source.make_gpu(device);
    if (!engine.ok()) {
      if (config.engine == "cuda") return engine.status();
      exclude(device, "does not start", engine.status());
      continue;
    }
    if (choice.standby == nullptr) choice.standby = source.make_cpu();
    if (absl::Status status = CheckAgreement(*choice.standby, **engine); !status.ok()) {
      exclude(device, "failed the self-test", status);
      continue;
    }
    engines.push_back(*std::move(engine));
    choice.devices.push_back(device);
  }
  choice.note = absl::StrJoin(excluded, "; ");
  if (engines.empty()) return ChooseCpu(config, source, choice.note, choice.note);
  if (engines.size() == 1) {
    choice.engine = std::move(engines.front());
  } else {
    VOXLOC_ASSIGN_OR_RETURN(choice.engine, source.make_replicated(std::move(engines)));
  }
  Log(LogLevel::kInfo, "engine_chosen",
      {{"engine", "cuda"},
       {"asked", config.engine},
       {"devices", absl::StrJoin(choice.devices, ",")},
       {"reason", "found, and passed the self-test"}});
  return choice;
}

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
       {"warm_up_s", ToSeconds(std::chrono::steady_clock::now() - start)}});
  return absl::OkStatus();
}

}  // namespace voxloc::server
