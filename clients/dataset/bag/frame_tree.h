// SPDX-License-Identifier: Apache-2.0
//
// The tf frames of a recording, the paths between them, and whether their transforms are fixed. A
// transform is fixed if all recorded values are equal, from tf or tf_static: many ROS 1 drives
// repeat fixed mounts on /tf.
//
// A frame may have several parents, as base_link has with odometry and a localizer: the path
// between two frames is the shortest one over a common ancestor; a recorded direct transform is
// preferred.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_FRAME_TREE_H_
#define VOXLOC_CLIENTS_DATASET_BAG_FRAME_TREE_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/messages.h"
#include "core/geometry/pose.h"

namespace voxloc::bag {

class FrameTree {
 public:
  struct Edge {
    std::string parent;
    std::string child;
    Pose parent_T_child;  // the first one recorded
    bool moves = false;   // a different one was recorded, beyond noise
  };
  // By child, then parent.
  using Key = std::pair<std::string, std::string>;
  // One step of a path: over this edge, to its parent where `up`.
  struct Step {
    Key edge;
    bool up = false;
  };

  // InvalidArgument: it is no pose.
  [[nodiscard]] absl::Status Add(const PoseMessage& transform);

  [[nodiscard]] const std::map<Key, Edge>& edges() const { return edges_; }

  // The steps from frame `from` to frame `to`: up to the common ancestor that is nearest, and down.
  // NotFound names the frames that are there; InvalidArgument: there are several ways of equal
  // length, or parents form a ring and there is none.
  [[nodiscard]] absl::StatusOr<std::vector<Step>> Path(const std::string& from,
                                                       const std::string& to) const;

  // to_T_from over edges that do not move. Errors also: an edge moves.
  [[nodiscard]] absl::StatusOr<Pose> FixedTransform(const std::string& to,
                                                    const std::string& from) const;

  // "base_link -> lidar, odom -> base_link (moves)", or that there is none.
  [[nodiscard]] std::string Text() const;

 private:
  // An ancestor of a frame: how far it is, and the step to it from each that is one nearer.
  struct Ancestor {
    size_t steps = 0;
    std::vector<Key> last;
  };
  // Of a frame, which is one itself.
  [[nodiscard]] std::map<std::string, Ancestor> Ancestors(const std::string& frame) const;
  [[nodiscard]] bool IsInCycle(const std::string& frame) const;

  std::map<Key, Edge> edges_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_FRAME_TREE_H_
