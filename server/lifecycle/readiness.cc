// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/readiness.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// How soon a change is logged.
constexpr std::chrono::milliseconds kPeriod{100};
// The thread of timeouts does nothing that takes long and touches no file; a machine that swaps may
// hold it up.
constexpr std::chrono::seconds kLivenessTimeout{30};
// Without a probe for this time nobody probes: probes come every few seconds, rarely less often
// than once a minute.
constexpr std::chrono::minutes kProbeWindow{5};

}  // namespace

Readiness::Readiness(const Engine& engine, const ResidentMaps& maps, ServerLifecycle& lifecycle)
    : engine_(engine), maps_(maps), lifecycle_(lifecycle), last_run_(Clock::now()) {}

void Readiness::Begin(const std::vector<std::string>& maps) {
  const absl::MutexLock lock(&mutex_);
  awaited_.emplace(maps.begin(), maps.end());
}

absl::Status Readiness::Check() {
  const absl::MutexLock lock(&mutex_);
  return CheckLocked();
}

absl::Status Readiness::CheckLocked() {
  VOXLOC_TRY(CheckServer());
  VOXLOC_TRY(CheckStart());
  was_ready_ = true;
  return absl::OkStatus();
}

absl::Status Readiness::CheckServer() const {
  if (lifecycle_.draining())
    return absl::UnavailableError("draining: the server takes no new work");
  if (!awaited_.has_value()) {
    return absl::UnavailableError("starting: the server does not listen yet");
  }
  if (const absl::Status health = engine_.Health(); !health.ok()) {
    return absl::UnavailableError(absl::StrCat("no engine: ", health.message()));
  }
  return absl::OkStatus();
}

absl::Status Readiness::CheckStart() {
  if (lifecycle_.state() != ServerState::kStarting) return absl::OkStatus();
  std::string first;
  std::set<std::string, std::less<>> loading;
  for (const LoadingMap& map : maps_.Loading()) {
    if (map.failed || awaited_->count(map.name) == 0) continue;
    if (loading.empty()) first = absl::StrCat("map ", map.name, " (", map.percent, " %)");
    loading.insert(map.name);
  }
  awaited_ = std::move(loading);
  if (awaited_->empty()) {
    lifecycle_.Advance(ServerState::kServing);
    return absl::OkStatus();
  }
  const size_t others = awaited_->size() - 1;
  return absl::UnavailableError(absl::StrCat(
      "starting: loading ", first, others == 0 ? "" : absl::StrCat(" and ", others, " more")));
}

absl::Status Readiness::CheckMap(absl::string_view map) {
  absl::Status status;
  {
    const absl::MutexLock lock(&mutex_);
    status = CheckServer();
  }
  const absl::Status found = maps_.Find(map).status();
  if (absl::IsNotFound(found)) return absl::NotFoundError(absl::StrCat("no map \"", map, "\""));
  if (!status.ok() || found.ok()) return status;
  return absl::UnavailableError(found.message());
}

absl::Status Readiness::CheckAlive() const {
  const absl::MutexLock lock(&mutex_);
  const Clock::duration silence = Clock::now() - last_run_;
  if (silence < kLivenessTimeout) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the thread `timeouts` has not run for ",
                   std::chrono::duration_cast<std::chrono::seconds>(silence).count(), " s"));
}

ServerState Readiness::state() {
  const absl::MutexLock lock(&mutex_);
  if (awaited_.has_value()) static_cast<void>(CheckStart());
  return lifecycle_.state();
}

void Readiness::RecordProbe() {
  const absl::MutexLock lock(&mutex_);
  last_probe_ = Clock::now();
}

bool Readiness::probed_recently() const {
  const absl::MutexLock lock(&mutex_);
  return was_ready_ && last_probe_ != Clock::time_point() &&
         Clock::now() - last_probe_ < kProbeWindow;
}

TimeoutWatch::Clock::time_point Readiness::Poll(TimeoutWatch::Clock::time_point now) {
  const absl::MutexLock lock(&mutex_);
  last_run_ = now;
  const absl::Status status = CheckLocked();
  if (status.ok() != std::exchange(logged_ready_, status.ok())) {
    if (status.ok()) {
      Log(LogLevel::kInfo, "ready", {});
    } else {
      Log(lifecycle_.draining() ? LogLevel::kInfo : LogLevel::kWarn, "not_ready",
          {{"reason", status.message()}});
    }
  }
  return now + kPeriod;
}

}  // namespace voxloc::server
