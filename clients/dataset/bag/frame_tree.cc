// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/frame_tree.h"

#include <algorithm>
#include <deque>

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

}  // namespace voxloc::bag
