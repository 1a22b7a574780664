// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/pose_source.h"

#include <algorithm>
#include <deque>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

// Noise of a fixed mount due to rounding by publishers and float32; motion of a vehicle is larger.
// The angle is 1 mm at 100 m.
constexpr double kNoise_m = 1e-5;
constexpr double kNoise_rad = 1e-5;

bool SamePose(const Pose& a, const Pose& b) {
  return TranslationDistance(a, b) <= kNoise_m && RotationDistance(a, b) <= kNoise_rad;
}

}  // namespace

absl::Status FrameTree::Add(const PoseMessage& transform) {
  VOXLOC_ASSIGN_OR_RETURN(const Pose pose,
                          PoseFromQuaternion(transform.translation, transform.rotation));
  const auto [found, added] = edges_.try_emplace(
      Key(transform.child, transform.parent), Edge{transform.parent, transform.child, pose, false});
  Edge& edge = found->second;
  if (!added && !SamePose(edge.parent_T_child, pose)) edge.moves = true;
  return absl::OkStatus();
}

std::map<std::string, FrameTree::Ancestor> FrameTree::Ancestors(const std::string& frame) const {
  std::map<std::string, Ancestor> ancestors = {{frame, Ancestor()}};
  std::deque<std::string> open = {frame};
  while (!open.empty()) {
    const std::string child = open.front();
    open.pop_front();
    const size_t steps = ancestors.at(child).steps + 1;
    for (auto edge = edges_.lower_bound(Key(child, "")); edge != edges_.end(); ++edge) {
      if (edge->first.first != child) break;
      const auto [ancestor, added] = ancestors.try_emplace(edge->second.parent);
      if (added) {
        ancestor->second.steps = steps;
        open.push_back(ancestor->first);
      }
      if (ancestor->second.steps == steps) ancestor->second.last.push_back(edge->first);
    }
  }
  return ancestors;
}

bool FrameTree::IsInCycle(const std::string& frame) const {
  for (const auto& [key, edge] : edges_) {
    if (edge.parent == frame && Ancestors(frame).count(edge.child) > 0) return true;
  }
  return false;
}

absl::StatusOr<std::vector<FrameTree::Step>> FrameTree::Path(const std::string& from,
                                                             const std::string& to) const {
  const std::map<std::string, Ancestor> up = Ancestors(from);
  const std::map<std::string, Ancestor> down = Ancestors(to);
  std::vector<std::string> nearest;
  size_t least = 0;
  for (const auto& [frame, ancestor] : up) {
    const auto other = down.find(frame);
    if (other == down.end()) continue;
    const size_t steps = ancestor.steps + other->second.steps;
    if (nearest.empty() || steps < least) {
      nearest = {frame};
      least = steps;
    } else if (steps == least) {
      nearest.push_back(frame);
    }
  }
  if (nearest.empty()) {
    for (const auto* ancestors : {&up, &down}) {
      for (const auto& [frame, ancestor] : *ancestors) {
        if (IsInCycle(frame)) {
          return absl::InvalidArgumentError(
              absl::StrCat("the parents of the frame '", frame, "' in tf form a ring"));
        }
      }
    }
    return absl::NotFoundError(
        absl::StrCat("tf does not connect the frame '", from, "' to '", to, "'; it has ", Text()));
  }
  const auto several = [&](const std::string& a, const std::string& b) {
    return absl::InvalidArgumentError(absl::StrCat("tf must have one shortest way from '", from,
                                                   "' to '", to, "' (got one over '", a,
                                                   "' and one over '", b, "')"));
  };
  if (nearest.size() > 1) return several(nearest[0], nearest[1]);
  std::vector<Step> steps;
  // From the meeting point back to each end.
  for (const bool upwards : {true, false}) {
    const std::map<std::string, Ancestor>& ancestors = upwards ? up : down;
    std::string frame = nearest[0];
    while (ancestors.at(frame).steps > 0) {
      const std::vector<Key>& last = ancestors.at(frame).last;
      if (last.size() > 1) return several(last[0].first, last[1].first);
      steps.push_back({last[0], upwards});
      frame = last[0].first;
    }
    if (upwards) std::reverse(steps.begin(), steps.end());
  }
  return steps;
}

absl::StatusOr<Pose> FrameTree::FixedTransform(const std::string& to,
                                               const std::string& from) const {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<Step> steps, Path(from, to));
  Pose to_T_from;
  for (const Step& step : steps) {
    const Edge& edge = edges_.at(step.edge);
    if (edge.moves) {
      return absl::InvalidArgumentError(absl::StrCat("the frames '", from, "' and '", to,
                                                     "' must be fixed to each other, but the "
                                                     "transform from '",
                                                     edge.parent, "' to '", edge.child, "' moves"));
    }
    to_T_from = (step.up ? edge.parent_T_child : edge.parent_T_child.Inverse()) * to_T_from;
  }
  return to_T_from;
}

std::string FrameTree::Text() const {
  if (edges_.empty()) return "no frames";
  std::vector<std::string> texts;
  for (const auto& [key, edge] : edges_) {
    texts.push_back(absl::StrCat(edge.parent, " -> ", edge.child, edge.moves ? " (moves)" : ""));
  }
  return absl::StrJoin(texts, ", ");
}

absl::Status PoseTrack::Add(int64_t stamp_ns, const Pose& pose) {
  if (poses_.size() >= kMaxPoses) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a drive must have at most ", kMaxPoses, " poses"));
  }
  poses_.push_back({stamp_ns, pose});
  return absl::OkStatus();
}

void PoseTrack::Finish() {
  absl::c_stable_sort(
      poses_, [](const StampedPose& a, const StampedPose& b) { return a.stamp_ns < b.stamp_ns; });
  // From the end, so that the last of equal stamps is the first that is met.
  const auto first = std::unique(
      poses_.rbegin(), poses_.rend(),
      [](const StampedPose& a, const StampedPose& b) { return a.stamp_ns == b.stamp_ns; });
  poses_.erase(poses_.begin(), first.base());
}

std::optional<Pose> PoseTrack::At(int64_t stamp_ns) const {
  const auto after = absl::c_lower_bound(
      poses_, stamp_ns,
      [](const StampedPose& pose, int64_t stamp) { return pose.stamp_ns < stamp; });
  if (after == poses_.end()) return std::nullopt;
  if (after->stamp_ns == stamp_ns) return after->pose;
  if (after == poses_.begin()) return std::nullopt;
  const auto before = after - 1;
  // Stamps are any numbers; the differences of unsigned ones do not overflow.
  const uint64_t gap_ns =
      static_cast<uint64_t>(after->stamp_ns) - static_cast<uint64_t>(before->stamp_ns);
  if (gap_ns > static_cast<uint64_t>(kMaxPoseGap_ns)) return std::nullopt;
  const double share =
      static_cast<double>(stamp_ns - before->stamp_ns) / static_cast<double>(gap_ns);
  Pose pose;
  pose.translation =
      before->pose.translation + share * (after->pose.translation - before->pose.translation);
  pose.rotation = before->pose.rotation.slerp(share, after->pose.rotation).normalized();
  return pose;
}

absl::StatusOr<PoseSource> PoseSource::FromTransforms(const BagContents& contents,
                                                      const FrameTree& tree, PoseFrames frames) {
  if (frames.map.empty() && frames.base.empty()) {
    size_t moving = 0;
    for (const auto& [key, edge] : tree.edges()) {
      if (!edge.moves) continue;
      ++moving;
      frames = {edge.parent, edge.child};
    }
    if (moving != 1) frames = {};
  }
  if (frames.map.empty() || frames.base.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("for poses from tf give both --map-frame and --base-frame, or a topic with "
                     "--poses-topic; tf has ",
                     tree.Text()));
  }
  PoseSource source(TopicsOfKind(contents, MessageKind::kTransforms), std::move(frames));
  VOXLOC_ASSIGN_OR_RETURN(source.steps_, tree.Path(source.frames_.base, source.frames_.map));
  for (const FrameTree::Step& step : source.steps_) {
    const FrameTree::Edge& edge = tree.edges().at(step.edge);
    source.edges_.emplace(step.edge, edge);
    if (edge.moves) source.moving_.emplace(step.edge, PoseTrack());
  }
  if (source.moving_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the transforms from '", source.frames_.map,
                                                   "' to '", source.frames_.base,
                                                   "' must move; tf has ", tree.Text()));
  }
  return source;
}

absl::StatusOr<PoseSource> PoseSource::FromFile(const std::string& path, PoseFrames frames) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> poses,
                          ReadTrajectory(path, TrajectoryFormat::kTum));
  PoseSource source({}, std::move(frames));
  source.named_ = true;
  source.parent_ = source.frames_.map;
  for (const StampedPose& pose : poses) {
    VOXLOC_TRY(source.track_.Add(pose.stamp_ns, pose.pose));
  }
  return source;
}

absl::Status PoseSource::AddTo(PoseTrack* track, const PoseMessage& message) {
  const absl::StatusOr<Pose> pose = PoseFromQuaternion(message.translation, message.rotation);
  if (pose.ok()) return track->Add(message.stamp_ns, *pose);
  ++invalid_poses_;
  return absl::OkStatus();
}

absl::Status PoseSource::AddMessage(const Topic& topic, absl::string_view bytes) {
  if (KindOf(topic) == MessageKind::kTransforms) {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<PoseMessage> transforms,
                            DecodeTransforms(topic, bytes));
    for (const PoseMessage& transform : transforms) {
      const auto track = moving_.find(FrameTree::Key(transform.child, transform.parent));
      if (track == moving_.end()) continue;
      VOXLOC_TRY(AddTo(&track->second, transform));
    }
    return absl::OkStatus();
  }
  VOXLOC_ASSIGN_OR_RETURN(const PoseMessage message, DecodePose(topic, bytes));
  if (!named_) {
    named_ = true;
    parent_ = message.parent;
    child_ = message.child;
  }
  if (message.parent != parent_ || message.child != child_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the messages of ", topic.name, " must be in one frame (got '", parent_,
                     "' to '", child_, "' and '", message.parent, "' to '", message.child, "')"));
  }
  return AddTo(&track_, message);
}

absl::Status PoseSource::Finish(const FrameTree& tree) {
  for (auto& [key, track] : moving_) track.Finish();
  if (!moving_.empty()) return absl::OkStatus();
  track_.Finish();
  if (track_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there must be poses (got none, and ", invalid_poses_, " messages without a rotation)"));
  }
  if (frames_.map.empty()) frames_.map = parent_;
  if (frames_.map != parent_) {
    VOXLOC_ASSIGN_OR_RETURN(map_T_parent_, tree.FixedTransform(frames_.map, parent_));
  }
  if (frames_.base.empty()) frames_.base = child_;
  if (!child_.empty() && frames_.base != child_) {
    VOXLOC_ASSIGN_OR_RETURN(child_T_base_, tree.FixedTransform(child_, frames_.base));
  }
  return absl::OkStatus();
}

std::pair<int64_t, int64_t> PoseSource::span_ns() const {
  const PoseTrack* track = &track_;
  for (const auto& [key, moving] : moving_) {
    if (track->empty() || moving.poses().size() < track->poses().size()) track = &moving;
  }
  if (track->empty()) return {0, 0};
  return {track->poses().front().stamp_ns, track->poses().back().stamp_ns};
}

std::optional<Pose> PoseSource::At(int64_t stamp_ns) const {
  if (moving_.empty()) {
    std::optional<Pose> pose = track_.At(stamp_ns);
    if (!pose.has_value()) return std::nullopt;
    // Left out where the frames are the same, so that the pose keeps its bits.
    if (map_T_parent_.has_value()) pose = *map_T_parent_ * *pose;
    if (child_T_base_.has_value()) pose = *pose * *child_T_base_;
    return pose;
  }
  std::optional<Pose> map_T_base;
  for (const FrameTree::Step& step : steps_) {
    Pose parent_T_child = edges_.at(step.edge).parent_T_child;
    const auto track = moving_.find(step.edge);
    if (track != moving_.end()) {
      const std::optional<Pose> now = track->second.At(stamp_ns);
      if (!now.has_value()) return std::nullopt;
      parent_T_child = *now;
    }
    const Pose next = step.up ? parent_T_child : parent_T_child.Inverse();
    map_T_base = map_T_base.has_value() ? next * *map_T_base : next;
  }
  return map_T_base;
}

}  // namespace voxloc::bag
