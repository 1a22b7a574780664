// SPDX-License-Identifier: Apache-2.0

#include "server/maps/last_poses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/status/try.h"

namespace voxloc::server {
namespace {

// One in this many vehicles is evicted at a time, which amortizes the search for the oldest.
constexpr size_t kPoseEvictionDivisor = 10;
// A transaction may become visible after one with a later timestamp, by at most the time that a
// statement may wait (StoreConnection::request_timeout_s, 10 s by default) plus a margin.
constexpr int64_t kMaxCommitDelayNs = int64_t{30} * 1'000'000'000;

}  // namespace

absl::Status LastPoses::Load(MapStore& store) {
  VOXLOC_ASSIGN_OR_RETURN(const auto maps, store.ListMaps());
  for (const StoredMap& map : maps) {
    VOXLOC_ASSIGN_OR_RETURN(auto poses, store.ListLastPoses(map.name));
    const absl::MutexLock lock(&mutex_);
    for (LastPose& pose : poses) {
      std::string vehicle = pose.vehicle;
      poses_.insert_or_assign(std::move(vehicle), std::move(pose));
    }
    EvictOldest();
  }
  return absl::OkStatus();
}

void LastPoses::Record(LastPose pose) {
  if (pose.vehicle.empty()) return;
  const absl::MutexLock lock(&mutex_);
  changed_.insert(pose.vehicle);
  std::string vehicle = pose.vehicle;
  poses_.insert_or_assign(std::move(vehicle), std::move(pose));
  EvictOldest();
}

void LastPoses::EvictOldest() {
  if (poses_.size() <= max_vehicles_) return;
  std::vector<int64_t> stamps;
  stamps.reserve(poses_.size());
  for (const auto& [vehicle, pose] : poses_) stamps.push_back(pose.stamp_unix_ns);
  const auto last = stamps.begin() + static_cast<ptrdiff_t>(poses_.size() / kPoseEvictionDivisor);
  std::nth_element(stamps.begin(), last, stamps.end());
  const int64_t newest_evicted = *last;
  absl::erase_if(poses_, [&](const auto& entry) {
    const bool old = entry.second.stamp_unix_ns <= newest_evicted;
    if (old) changed_.erase(entry.first);
    return old;
  });
}

std::optional<LastPose> LastPoses::Find(absl::string_view vehicle, absl::string_view map) const {
  const absl::MutexLock lock(&mutex_);
  const auto it = poses_.find(vehicle);
  if (it == poses_.end() || it->second.map != map) return std::nullopt;
  return it->second;
}

absl::Status LastPoses::MergeSaved(MapStore& store) {
  int64_t since = 0;
  {
    const absl::MutexLock lock(&mutex_);
    since = merged_unix_ns_ - kMaxCommitDelayNs;
  }
  VOXLOC_ASSIGN_OR_RETURN(auto saved, store.ListPosesSavedSince(since));
  const absl::MutexLock lock(&mutex_);
  merged_unix_ns_ = std::max(merged_unix_ns_, saved.latest_unix_ns);
  for (LastPose& pose : saved.poses) {
    const auto known = poses_.find(pose.vehicle);
    if (known != poses_.end() && known->second.stamp_unix_ns >= pose.stamp_unix_ns) continue;
    changed_.erase(pose.vehicle);
    std::string vehicle = pose.vehicle;
    poses_.insert_or_assign(std::move(vehicle), std::move(pose));
  }
  EvictOldest();
  return absl::OkStatus();
}

absl::Status LastPoses::Save(MapStore& store) {
  std::vector<LastPose> changed;
  {
    const absl::MutexLock lock(&mutex_);
    changed.reserve(changed_.size());
    for (const std::string& vehicle : changed_) changed.push_back(poses_.at(vehicle));
    changed_.clear();
  }
  if (changed.empty()) return absl::OkStatus();
  absl::Status status = store.SaveLastPoses(changed);
  if (status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  for (const LastPose& pose : changed) {
    if (poses_.contains(pose.vehicle)) changed_.insert(pose.vehicle);
  }
  return status;
}

}  // namespace voxloc::server
