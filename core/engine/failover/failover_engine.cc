// SPDX-License-Identifier: Apache-2.0

#include "core/engine/failover/failover_engine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace voxloc {
namespace {

std::vector<EngineInfo> InfosOf(const std::vector<std::unique_ptr<Engine>>& engines) {
  std::vector<EngineInfo> infos;
  infos.reserve(engines.size());
  for (const auto& engine : engines) infos.push_back(engine->Info());
  return infos;
}

void AppendDevices(const EngineInfo& info, std::vector<EngineInfo>& devices) {
  if (info.parts.empty()) {
    devices.push_back(info);
  } else {
    devices.insert(devices.end(), info.parts.begin(), info.parts.end());
  }
}

}  // namespace

FailoverEngine::FailoverEngine(std::vector<std::unique_ptr<Engine>> engines)
    : engines_(std::move(engines)), infos_(InfosOf(engines_)) {}

bool FailoverEngine::FailOverFrom(size_t engine) const {
  try {
    const absl::Status health = engines_[engine]->Health();
    if (health.ok()) return false;
    const absl::MutexLock lock(&mutex_);
    if (active_.load(std::memory_order_relaxed) != engine) return true;  // as another thread saw
    std::vector<std::string> faults = {absl::StrCat(infos_[engine].name, ": ", health.message())};
    for (size_t next = engine + 1; next < engines_.size(); ++next) {
      const absl::Status next_health = engines_[next]->Health();
      if (next_health.ok()) {
        faults_.insert(faults_.end(), faults.begin(), faults.end());
        active_.store(next, std::memory_order_release);
        return true;
      }
      faults.push_back(absl::StrCat(infos_[next].name, ": ", next_health.message()));
    }
    return true;
  } catch (const std::bad_alloc&) {  // the next call tries again
    return false;
  }
}

absl::Status FailoverEngine::DoAlign(absl::Span<const AlignJob> jobs,
                                     absl::Span<AlignResult> results) {
  const size_t engine = takeovers();
  engines_[engine]->Align(jobs, results);
  const bool failed = std::any_of(results.begin(), results.end(),
                                  [](const AlignResult& result) { return !result.status.ok(); });
  if (failed) FailOverFrom(engine);
  return absl::OkStatus();
}

EngineInfo FailoverEngine::Info() const {
  const size_t serving = takeovers();
  EngineInfo info = engines_[serving]->Info();
  if (serving == 0) return info;
  std::vector<EngineInfo> devices;
  for (size_t engine = 0; engine < serving; ++engine) AppendDevices(infos_[engine], devices);
  for (EngineInfo& device : devices) {
    device.healthy = false;
    device.memory_bytes_free = 0;
  }
  info.healthy = engines_[serving]->Health().ok();
  AppendDevices(info, devices);
  info.parts = std::move(devices);
  return info;
}

absl::Status FailoverEngine::Health() const {
  static_cast<void>(FailOverFrom(takeovers()));
  return ActiveEngine().Health();
}

std::string FailoverEngine::note() const {
  const absl::MutexLock lock(&mutex_);
  if (faults_.empty()) return {};
  return absl::StrCat(name(), " has taken over; ", absl::StrJoin(faults_, "; "));
}

}  // namespace voxloc
