// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/engine_faults.h"

#include "server/errors/error_details.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// The tiles around a vehicle are moved within some tenths of a second (docs/reliability.md).
constexpr double kEngineReplacedRetryAfterS = 0.5;

}  // namespace

absl::Status EngineFaults::Error() const {
  if (!engine.Health().ok()) {
    return WithReason(absl::UnavailableError("the engine has failed permanently; see the server's "
                                             "log. A restart may fix it"),
                      "ENGINE_LOST");
  }
  if (engine.takeovers() == 0) {
    return WithReason(absl::InternalError("the engine failed; see the server's log"),
                      "ENGINE_FAULT");
  }
  return WithRetryAfter(
      WithReason(absl::UnavailableError("another engine has taken over from one that failed; the "
                                        "map is being moved to it"),
                 "ENGINE_REPLACED"),
      kEngineReplacedRetryAfterS);
}

bool EngineFaults::WasReplaced(const MapView& map) const {
  if (engine.takeovers() == 0) return false;
  if (library.engine_changed()) return true;
  const auto now = maps.FindRevision(map.snapshot->name, map.snapshot->revision);
  return !now.ok() || now->snapshot != map.snapshot;
}

absl::Status EngineFaults::Report(const std::string& client, const std::string& map,
                                  const absl::Status& status) const {
  (engine.Health().ok() ? metrics.engine_faults : metrics.engine_lost).Increment();
  LogRateLimited(LogLevel::kError, "engine_failed",
                 {{"session", client}, {"map", map}, {"error", status.message()}});
  residency.SwitchEngineNow();
  return Error();
}

}  // namespace voxloc::server
