// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store_upkeep.h"

#include <chrono>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "core/parallel/this_thread.h"
#include "core/status/try.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// A crash of the server loses the motion of this period.
constexpr std::chrono::seconds kPosePeriod{5};
// What is known of a tile is gathered over days.
constexpr std::chrono::seconds kFitPeriod{60};
// Contents expire after a day, and revisions when others come: a minute is soon enough for both.
constexpr std::chrono::seconds kCollectionPeriod{60};

}  // namespace

TimeoutWatch::Clock::time_point StoreUpkeep::Poll(TimeoutWatch::Clock::time_point now) {
  // If the queue is full or blocked, the next period retries.
  if (!saving_.exchange(true)) {
    const bool fits = now >= next_fits_;
    if (!mapping_.Post([self = shared_from_this(), fits] { self->Save(fits); })) {
      saving_ = false;
    } else if (fits) {
      next_fits_ = now + kFitPeriod;
    }
  }
  if (now >= next_collection_ && !collecting_.exchange(true)) {
    PostCollection();
    next_collection_ = now + kCollectionPeriod;
  }
  return now + kPosePeriod;
}

void StoreUpkeep::Save(bool fits) {
  const auto LogIfFailed = [](absl::string_view event, const absl::Status& status) {
    if (!status.ok()) Log(LogLevel::kWarn, event, {{"error", status.ToString()}});
  };
  const absl::Status saved = last_poses_.Save(store_);
  LogIfFailed("poses_not_saved", saved);
  if (saved.ok() && store_.shared()) {
    LogIfFailed("poses_not_followed", last_poses_.MergeSaved(store_));
  }
  if (fits) LogIfFailed("tile_fits_not_saved", tile_fits_.Save(store_));
  saving_ = false;
}

void StoreUpkeep::PostCollection() {
  const bool posted = mapping_.Post([self = shared_from_this()] {
    if (self->Collect()) {
      self->PostCollection();
    } else {
      self->collecting_ = false;
    }
  });
  if (!posted) collecting_ = false;
}

bool StoreUpkeep::Collect() {
  const auto collected = store_.Collect();
  if (!collected.ok()) {
    Log(LogLevel::kWarn, "store_not_collected", {{"error", collected.status().ToString()}});
    return false;
  }
  if (collected->revisions > 0 || collected->contents > 0) {
    Log(LogLevel::kInfo, "store_collected",
        {{"revisions", collected->revisions},
         {"contents", collected->contents},
         {"bytes", collected->bytes}});
  }
  if (const auto usage = store_.Usage(); usage.ok()) {
    metrics_.store_bytes.Set(static_cast<double>(usage->bytes));
    metrics_.store_content_bytes.Set(static_cast<double>(usage->content_bytes));
    metrics_.store_unreferenced_bytes.Set(static_cast<double>(usage->unreferenced_bytes));
  }
  return collected->more;
}

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
