// SPDX-License-Identifier: Apache-2.0

#include "server/engines/engine_choice.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/engine/self_test/self_test.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

EngineChoice Cpu(const Config& config, const EngineSource& source, std::string note,
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

// The engines of the devices that start and agree with the CPU engine.
class Gpus {
 public:
  Gpus(const Config& config, const EngineSource& source) : config_(config), source_(source) {}

  absl::Status Start() {
    for (const uint32_t device : config_.devices) {
      auto engine = source_.make_gpu(device);
      if (!engine.ok()) {
        if (config_.engine == "cuda") return engine.status();
        LeaveOut(device, "does not start", engine.status());
        continue;
      }
      if (reference_ == nullptr) reference_ = source_.make_cpu();
      if (absl::Status status = CheckAgreement(*reference_, **engine); !status.ok()) {
        LeaveOut(device, "failed the self-test", status);
        continue;
      }
      engines_.push_back(*std::move(engine));
      devices_.push_back(device);
    }
    return absl::OkStatus();
  }

  [[nodiscard]] const std::vector<uint32_t>& devices() const { return devices_; }

  // Empty: none was left out.
  [[nodiscard]] std::string note() const { return absl::StrJoin(left_out_, "; "); }

  std::vector<std::unique_ptr<Engine>> Take() { return std::move(engines_); }
  // The CPU engine that they were compared with.
  std::unique_ptr<Engine> TakeReference() { return std::move(reference_); }

 private:
  void LeaveOut(uint32_t device, absl::string_view how, const absl::Status& status) {
    Log(LogLevel::kError, "gpu_left_out",
        {{"device", device}, {"reason", how}, {"error", status.message()}});
    left_out_.push_back(absl::StrCat("GPU ", device, " ", how, ": ", status.message()));
  }

  const Config& config_;
  const EngineSource& source_;
  std::unique_ptr<Engine> reference_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<uint32_t> devices_;  // theirs
  std::vector<std::string> left_out_;
};

}  // namespace

absl::StatusOr<std::string> ReasonForCpu(const Config& config, const EngineSource& source) {
  if (config.engine == "cpu") return "asked for";
  std::string reason = "this build has no CUDA engine";
  if (source.count_gpus) {
    std::string why_none;
    const int devices = source.count_gpus(&why_none);
    if (devices > 0) {
      if (absl::Status status = CheckDevices(config, devices); !status.ok()) return status;
      return "";
    }
    reason = absl::StrCat("no GPU can be used: ", why_none);
  }
  if (config.engine != "cuda") return reason;
  return absl::FailedPreconditionError(
      absl::StrCat("engine is 'cuda', but ", reason, "; use --engine=cpu or --engine=auto"));
}

absl::StatusOr<EngineChoice> ChooseEngine(const Config& config, const EngineSource& source) {
  const auto reason = ReasonForCpu(config, source);
  if (!reason.ok()) return reason.status();
  if (!reason->empty()) return Cpu(config, source, "", *reason);

  Gpus gpus(config, source);
  if (absl::Status status = gpus.Start(); !status.ok()) return status;
  std::vector<std::unique_ptr<Engine>> engines = gpus.Take();
  if (engines.empty()) return Cpu(config, source, gpus.note(), gpus.note());
  EngineChoice choice;
  choice.devices = gpus.devices();
  choice.note = gpus.note();
  if (engines.size() == 1) {
    choice.engine = std::move(engines.front());
  } else {
    auto united = source.unite(std::move(engines));
    if (!united.ok()) return united.status();
    choice.engine = *std::move(united);
  }
  choice.standby = gpus.TakeReference();
  Log(LogLevel::kInfo, "engine_chosen",
      {{"engine", "cuda"},
       {"asked", config.engine},
       {"devices", absl::StrJoin(choice.devices, ",")},
       {"reason", "found, and passed the self-test"}});
  return choice;
}

}  // namespace voxloc::server
