// SPDX-License-Identifier: Apache-2.0

#include "server/maps/last_poses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/status/try.h"

namespace voxloc::server {
namespace {

// Of the vehicles that are forgotten at once, so that looking for the oldest costs little a note.
constexpr size_t kShareOfPosesForgotten = 10;
// A transaction may become visible later than one that is dated after it, by as long as a statement
// may wait for its turn (StoreConnection::request_timeout_s, 10 s by default) and some.
constexpr int64_t kLateNs = int64_t{30} * 1'000'000'000;

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
    ForgetOldest();
  }
  return absl::OkStatus();
}

void LastPoses::Note(LastPose pose) {
  if (pose.vehicle.empty()) return;
  const absl::MutexLock lock(&mutex_);
  changed_.insert(pose.vehicle);
  std::string vehicle = pose.vehicle;
  poses_.insert_or_assign(std::move(vehicle), std::move(pose));
  ForgetOldest();
}

void LastPoses::ForgetOldest() {
  if (poses_.size() <= max_vehicles_) return;
  std::vector<int64_t> stamps;
  stamps.reserve(poses_.size());
  for (const auto& [vehicle, pose] : poses_) stamps.push_back(pose.stamp_unix_ns);
  const auto last = stamps.begin() + static_cast<ptrdiff_t>(poses_.size() / kShareOfPosesForgotten);
  std::nth_element(stamps.begin(), last, stamps.end());
  const int64_t youngest = *last;
  absl::erase_if(poses_, [&](const auto& entry) {
    const bool old = entry.second.stamp_unix_ns <= youngest;
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

absl::Status LastPoses::TakeOthers(MapStore& store) {
  int64_t since = 0;
  {
    const absl::MutexLock lock(&mutex_);
    since = taken_unix_ns_ - kLateNs;
  }
  VOXLOC_ASSIGN_OR_RETURN(auto saved, store.ListPosesSavedSince(since));
  const absl::MutexLock lock(&mutex_);
  taken_unix_ns_ = std::max(taken_unix_ns_, saved.latest_unix_ns);
  for (LastPose& pose : saved.poses) {
    const auto known = poses_.find(pose.vehicle);
    if (known != poses_.end() && known->second.stamp_unix_ns >= pose.stamp_unix_ns) continue;
    changed_.erase(pose.vehicle);
    std::string vehicle = pose.vehicle;
    poses_.insert_or_assign(std::move(vehicle), std::move(pose));
  }
  ForgetOldest();
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
