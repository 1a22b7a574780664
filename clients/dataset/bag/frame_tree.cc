// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/frame_tree.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace voxloc::bag {
namespace {

bool SamePose(const Pose& a, const Pose& b) {
  return a.translation == b.translation && a.rotation.coeffs() == b.rotation.coeffs();
}

}  // namespace

absl::Status FrameTree::Add(const PoseMessage& transform) {
  const absl::StatusOr<Pose> pose = PoseFromQuaternion(transform.translation, transform.rotation);
  if (!pose.ok()) return pose.status();
  const auto [found, added] =
      edges_.try_emplace(transform.child, Edge{transform.parent, *pose, false, ""});
  if (added) return absl::OkStatus();
  Edge& edge = found->second;
  if (edge.parent != transform.parent) {
    edge.other_parent = transform.parent;
  } else if (!SamePose(edge.parent_T_child, *pose)) {
    edge.moves = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FrameTree::Ancestors(const std::string& frame) const {
  std::vector<std::string> line = {frame};
  while (true) {
    const auto edge = edges_.find(line.back());
    if (edge == edges_.end()) return line;
    if (!edge->second.other_parent.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the frame '", line.back(), "' must have one parent in tf (got '",
                       edge->second.parent, "' and '", edge->second.other_parent, "')"));
    }
    line.push_back(edge->second.parent);
    if (line.size() > edges_.size() + 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parents of the frame '", frame, "' in tf form a ring"));
    }
  }
}

absl::StatusOr<std::vector<FrameTree::Step>> FrameTree::Path(const std::string& from,
                                                             const std::string& to) const {
  std::vector<Step> steps;
  if (from == to) return steps;
  const absl::StatusOr<std::vector<std::string>> up = Ancestors(from);
  if (!up.ok()) return up.status();
  const absl::StatusOr<std::vector<std::string>> down = Ancestors(to);
  if (!down.ok()) return down.status();
  const auto meeting = absl::c_find_if(
      *up, [&](const std::string& frame) { return absl::c_linear_search(*down, frame); });
  if (meeting == up->end()) {
    return absl::NotFoundError(
        absl::StrCat("tf does not connect the frame '", from, "' to '", to, "'; it has ", Text()));
  }
  for (auto frame = up->begin(); frame != meeting; ++frame) steps.push_back({*frame, true});
  const auto end = absl::c_find(*down, *meeting);
  for (auto frame = end; frame != down->begin();) steps.push_back({*--frame, false});
  return steps;
}

absl::StatusOr<Pose> FrameTree::Fixed(const std::string& to, const std::string& from) const {
  const absl::StatusOr<std::vector<Step>> steps = Path(from, to);
  if (!steps.ok()) return steps.status();
  Pose to_T_from;
  for (const Step& step : *steps) {
    const Edge& edge = edges_.at(step.child);
    if (edge.moves) {
      return absl::InvalidArgumentError(absl::StrCat("the frames '", from, "' and '", to,
                                                     "' must be fixed to each other, but the "
                                                     "transform from '",
                                                     edge.parent, "' to '", step.child, "' moves"));
    }
    to_T_from = (step.up ? edge.parent_T_child : edge.parent_T_child.Inverse()) * to_T_from;
  }
  return to_T_from;
}

std::string FrameTree::Text() const {
  if (edges_.empty()) return "no frames";
  std::vector<std::string> texts;
  for (const auto& [child, edge] : edges_) {
    texts.push_back(absl::StrCat(edge.parent, " -> ", child, edge.moves ? " (moves)" : ""));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace voxloc::bag
