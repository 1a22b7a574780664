// SPDX-License-Identifier: Apache-2.0

#include "server/maps/follow/store_follower.h"

#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "core/status/try.h"
#include "server/observe/logging.h"
#include "server/scheduling/this_thread.h"

namespace voxloc::server {

struct StoreFollower::Round {
  absl::Mutex mutex;
  size_t open ABSL_GUARDED_BY(mutex) = 0;  // maps that are not done
  absl::Status status ABSL_GUARDED_BY(mutex);

  void Done(absl::Status of_map) {
    const absl::MutexLock lock(&mutex);
    --open;
    status.Update(std::move(of_map));
  }
};

StoreFollower::StoreFollower(const Parts& parts)
    : parts_(parts), watch_(parts.library.store().Watch()), thread_([this] { Run(); }) {}

StoreFollower::~StoreFollower() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  watch_->Wake();
  thread_.join();
}

void StoreFollower::Run() {
  SetThreadName("store follower");
  std::string synced;
  for (bool waited = true; !WaitForStop(waited ? absl::ZeroDuration() : parts_.poll_period);) {
    const auto change = watch_->Next(parts_.poll_period);
    UpdateConnectionState(change.status());
    waited = change.ok();  // a database that does not answer ends the wait at once
    if (!waited) continue;
    if (change->fingerprint != synced) {
      const absl::Time start = absl::Now();
      const bool some = change->maps.has_value() && !synced.empty();
      const auto differing = some ? FilterOutOfSync(*change->maps) : FindOutOfSync();
      const absl::StatusOr<bool> changed =
          differing.ok() ? SyncAll(*differing) : absl::StatusOr<bool>(differing.status());
      if (absl::IsCancelled(changed.status())) return;
      if (!changed.ok()) {
        // Tried again, whether or not there is another change.
        LogRateLimited(LogLevel::kError, "maps_not_followed",
                       {{"error", changed.status().message()}});
        synced.clear();
        waited = false;
        continue;
      }
      synced = change->fingerprint;
      if (*changed) parts_.metrics.map_follow_s.Observe(absl::ToDoubleSeconds(absl::Now() - start));
    }
    parts_.metrics.store_followed_unix_s.Set(
        absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  }
}

bool StoreFollower::WaitForStop(absl::Duration wait) {
  const absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&stopping_), wait);
}

void StoreFollower::UpdateConnectionState(const absl::Status& status) {
  parts_.metrics.store_connected.Set(status.ok() ? 1.0 : 0.0);
  if (status.ok() == connection_.ok()) return;
  connection_ = status;
  if (status.ok()) {
    Log(LogLevel::kInfo, "store_found",
        {{"lost_s", absl::ToDoubleSeconds(absl::Now() - lost_at_)}});
    return;
  }
  lost_at_ = absl::Now();
  parts_.metrics.store_losses.Increment();
  Log(LogLevel::kError, "store_lost", {{"error", status.message()}});
}

absl::StatusOr<std::vector<std::string>> StoreFollower::FindOutOfSync() {
  VOXLOC_ASSIGN_OR_RETURN(const auto stored, parts_.library.store().ListMaps());
  const std::vector<std::string> names = parts_.library.maps().Names();
  std::set<std::string> differing(names.begin(), names.end());
  for (const StoredMap& map : stored) {
    if (parts_.library.IsInSync(map)) {
      differing.erase(map.name);
    } else {
      differing.insert(map.name);
    }
  }
  return std::vector<std::string>(differing.begin(), differing.end());
}

absl::StatusOr<std::vector<std::string>> StoreFollower::FilterOutOfSync(
    const std::vector<std::string>& maps) {
  std::vector<std::string> differing;
  for (const std::string& map : maps) {
    const auto stored = parts_.library.store().GetMap(map);
    const bool gone = absl::IsNotFound(stored.status());
    if (!stored.ok() && !gone) return stored.status();
    const bool synced =
        gone ? !parts_.library.maps().FindEntry(map).has_value() : parts_.library.IsInSync(*stored);
    if (!synced) differing.push_back(map);
  }
  return differing;
}

absl::StatusOr<bool> StoreFollower::SyncAll(const std::vector<std::string>& maps) {
  const auto round = std::make_shared<Round>();
  {
    const absl::MutexLock lock(&round->mutex);
    round->open = maps.size();
  }
  for (const std::string& map : maps) {
    // Destroyed without being run where the queue is stopped.
    const bool posted = parts_.mapping.Post(
        [round, map, &library = parts_.library] { round->Done(library.Sync(map)); });
    if (!posted) round->Done(absl::UnavailableError("too many changes of maps wait"));
  }
  for (;;) {
    {
      const absl::MutexLock lock(&round->mutex);
      const auto is_done = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(round->mutex) {
        return round->open == 0;
      };
      if (round->mutex.AwaitWithTimeout(absl::Condition(&is_done), parts_.poll_period)) {
        if (!round->status.ok()) return std::move(round->status);
        return !maps.empty();
      }
    }
    if (WaitForStop(absl::ZeroDuration())) return absl::CancelledError("the server ends");
  }
}

}  // namespace voxloc::server
