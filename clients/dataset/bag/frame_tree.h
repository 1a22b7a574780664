// SPDX-License-Identifier: Apache-2.0
//
// The frames of a recording, as tf and tf_static connect them: which are there, how one comes to
// another, and whether that ever changes. A transform is fixed where the recording never shows
// another value for it, whichever topic it is from: many ROS 1 drives repeat fixed mounts on /tf.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_FRAME_TREE_H_
#define VOXLOC_CLIENTS_DATASET_BAG_FRAME_TREE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/messages.h"
#include "core/geometry/pose.h"

namespace voxloc::bag {

class FrameTree {
 public:
  // From parent to child.
  struct Edge {
    std::string parent;
    Pose parent_T_child;       // the first one recorded
    bool moves = false;        // another one was recorded
    std::string other_parent;  // of the same child; empty: none
  };
  // One step of a path: over the edge of `child`, to its parent where `up`.
  struct Step {
    std::string child;
    bool up = false;
  };

  // InvalidArgument: it is no pose.
  [[nodiscard]] absl::Status Add(const PoseMessage& transform);

  [[nodiscard]] const std::map<std::string, Edge>& edges() const { return edges_; }  // by child

  // The steps from frame `from` to frame `to`. NotFound names the frames that are there;
  // InvalidArgument: a frame has two parents, or parents form a ring.
  [[nodiscard]] absl::StatusOr<std::vector<Step>> Path(const std::string& from,
                                                       const std::string& to) const;

  // to_T_from over edges that do not move. Errors also: an edge moves.
  [[nodiscard]] absl::StatusOr<Pose> Fixed(const std::string& to, const std::string& from) const;

  // "base_link -> lidar, odom -> base_link (moves)", or that there is none.
  [[nodiscard]] std::string Text() const;

 private:
  // The frame, its parent, the parent's parent and so on.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> Ancestors(const std::string& frame) const;

  std::map<std::string, Edge> edges_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_FRAME_TREE_H_
