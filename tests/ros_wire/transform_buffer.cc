// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/transform_buffer.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kKept_ns = 10'000'000'000;  // tf2's default
constexpr int kLongestChain = 100;            // a loop of frames is longer

Pose Interpolate(const Pose& from, const Pose& to, double share) {
  return {from.translation + share * (to.translation - from.translation),
          from.rotation.slerp(share, to.rotation)};
}

}  // namespace

void TransformBuffer::Put(const StampedTransform& transform, bool is_static) {
  const absl::MutexLock lock(&mutex_);
  Frame& frame = frames_[transform.child_frame_id];
  if (frame.parent != transform.frame_id || is_static) frame.parent_T_frame.clear();
  frame.parent = transform.frame_id;
  frame.is_static = is_static;
  frame.parent_T_frame[transform.stamp_ns] = transform.frame_T_child;
  const int64_t newest_ns = frame.parent_T_frame.rbegin()->first;
  frame.parent_T_frame.erase(frame.parent_T_frame.begin(),
                             frame.parent_T_frame.lower_bound(newest_ns - kKept_ns));
}

absl::StatusOr<Pose> TransformBuffer::InParent(const std::string& name, const Frame& frame,
                                               std::optional<int64_t> stamp_ns) const {
  const std::map<int64_t, Pose>& poses = frame.parent_T_frame;
  if (frame.is_static || !stamp_ns.has_value()) return poses.rbegin()->second;
  const auto next = poses.lower_bound(*stamp_ns);
  if (next != poses.end() && next->first == *stamp_ns) return next->second;
  if (next == poses.begin() || next == poses.end()) {
    return absl::OutOfRangeError(absl::StrCat("\"", name, "\" at ", *stamp_ns,
                                              " ns is not between ", poses.begin()->first, " and ",
                                              poses.rbegin()->first));
  }
  const auto last = std::prev(next);
  const double share =
      static_cast<double>(*stamp_ns - last->first) / static_cast<double>(next->first - last->first);
  return Interpolate(last->second, next->second, share);
}

absl::StatusOr<Pose> TransformBuffer::Lookup(const std::string& target_frame,
                                             const std::string& source_frame,
                                             std::optional<int64_t> stamp_ns) const {
  const absl::MutexLock lock(&mutex_);
  // Where the target is in each of its ancestors.
  std::map<std::string, Pose> ancestor_T_target = {{target_frame, Pose()}};
  Pose pose;
  std::string name = target_frame;
  for (int i = 0; i < kLongestChain && frames_.count(name) > 0; ++i) {
    const Frame& frame = frames_.at(name);
    const absl::StatusOr<Pose> step = InParent(name, frame, stamp_ns);
    if (!step.ok()) break;  // the source may meet the target before
    pose = *step * pose;
    name = frame.parent;
    ancestor_T_target[name] = pose;
  }
  // From the source upwards to the first of them.
  pose = Pose();
  name = source_frame;
  for (int i = 0; i < kLongestChain; ++i) {
    const auto common = ancestor_T_target.find(name);
    if (common != ancestor_T_target.end()) return common->second.Inverse() * pose;
    const auto frame = frames_.find(name);
    if (frame == frames_.end()) break;
    const absl::StatusOr<Pose> step = InParent(name, frame->second, stamp_ns);
    if (!step.ok()) return step.status();
    pose = *step * pose;
    name = frame->second.parent;
  }
  return absl::NotFoundError(absl::StrCat("no transform from \"", source_frame, "\" to \"",
                                          target_frame, "\" was received"));
}

}  // namespace voxloc::ros_wire
