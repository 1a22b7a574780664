// SPDX-License-Identifier: Apache-2.0
//
// Where the poses of a drive come from: a topic of poses or odometry, tf, or a file; what they say
// about the vehicle, map_T_base at a stamp; and the frames of tf.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_POSE_SOURCE_H_
#define VOXLOC_CLIENTS_DATASET_BAG_POSE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/messages.h"
#include "clients/dataset/trajectory_file.h"
#include "core/geometry/pose.h"

namespace voxloc::bag {

// The tf frames of a recording, the paths between them, and whether their transforms are fixed. A
// transform is fixed if all recorded values are equal, from tf or tf_static: many ROS 1 drives
// repeat fixed mounts on /tf.
//
// A frame may have several parents, as base_link has with odometry and a localizer: the path
// between two frames is the shortest one over a common ancestor; a recorded direct transform is
// preferred.
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

// The largest gap between two poses that is interpolated over: receivers of GNSS, the slowest
// sources of poses, report once a second or more often.
constexpr int64_t kMaxPoseGap_ns = 1'000'000'000;

// A drive of 27 hours at 100 Hz, 640 MB.
constexpr size_t kMaxPoses = 10'000'000;

class PoseTrack {
 public:
  // In any order. ResourceExhausted: there are kMaxPoses.
  [[nodiscard]] absl::Status Add(int64_t stamp_ns, const Pose& pose);

  // After the last pose, once. Of poses with the same stamp the last one stays.
  void Finish();

  [[nodiscard]] bool empty() const { return poses_.empty(); }
  [[nodiscard]] const std::vector<StampedPose>& poses() const { return poses_; }

  // The pose of that stamp itself; or, between two poses that are at most kMaxPoseGap_ns apart,
  // the straight line and the shortest rotation. nullopt: neither.
  [[nodiscard]] std::optional<Pose> At(int64_t stamp_ns) const;

 private:
  std::vector<StampedPose> poses_;
};

// What the user says of the frames; empty: as the recording has them.
struct PoseFrames {
  std::string map;
  std::string base;
};

class PoseSource {
 public:
  // A topic of poses or odometry. Where its messages name no child, poses are those of frames.base.
  static PoseSource FromTopic(size_t topic, PoseFrames frames) {
    return PoseSource({topic}, std::move(frames));
  }

  // The transforms from `frames.map` to `frames.base`. Where neither is given, those of the only
  // transform that moves. InvalidArgument: there is not one, or only one frame is given; otherwise
  // as FrameTree::Path.
  [[nodiscard]] static absl::StatusOr<PoseSource> FromTransforms(const BagContents& contents,
                                                                 const FrameTree& tree,
                                                                 PoseFrames frames);

  // A file `stamp x y z qx qy qz qw` (tum) with the poses of frames.base.
  [[nodiscard]] static absl::StatusOr<PoseSource> FromFile(const std::string& path,
                                                           PoseFrames frames);

  // The topics whose messages must be passed to AddMessage.
  [[nodiscard]] const std::vector<size_t>& topics() const { return topics_; }

  // InvalidArgument: not decodable, or frames that change. Invalid poses (such as a zero quaternion
  // before a filter has started) are skipped and counted.
  [[nodiscard]] absl::Status AddMessage(const Topic& topic, absl::string_view bytes);

  // Sets the frames if they were not known before. Call before Finish.
  void SetFrames(PoseFrames frames) { frames_ = std::move(frames); }

  // After the last message: joins the frames of the poses with those asked for. InvalidArgument:
  // there is no pose; as FrameTree::FixedTransform.
  [[nodiscard]] absl::Status Finish(const FrameTree& tree);

  // What follows is for after Finish.

  // "" if neither the user nor the recording names it.
  [[nodiscard]] const std::string& map_frame() const { return frames_.map; }
  [[nodiscard]] const std::string& base_frame() const { return frames_.base; }
  [[nodiscard]] size_t invalid_poses() const { return invalid_poses_; }
  // The first and the last stamp of what was taken.
  [[nodiscard]] std::pair<int64_t, int64_t> span_ns() const;

  // map_T_base. nullopt: see PoseTrack::At.
  [[nodiscard]] std::optional<Pose> At(int64_t stamp_ns) const;

 private:
  PoseSource(std::vector<size_t> topics, PoseFrames frames)
      : topics_(std::move(topics)), frames_(std::move(frames)) {}

  [[nodiscard]] absl::Status AddTo(PoseTrack* track, const PoseMessage& message);

  std::vector<size_t> topics_;
  PoseFrames frames_;
  size_t invalid_poses_ = 0;

  // Of a topic or a file: parent_T_child, with what joins them to map and base where these are
  // other frames.
  PoseTrack track_;
  bool named_ = false;  // parent_ and child_ are set
  std::string parent_;
  std::string child_;
  std::optional<Pose> map_T_parent_;
  std::optional<Pose> child_T_base_;

  // Of tf: the way from base to map, and the tracks of the edges on it that move.
  std::vector<FrameTree::Step> steps_;
  std::map<FrameTree::Key, FrameTree::Edge> edges_;
  std::map<FrameTree::Key, PoseTrack> moving_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_POSE_SOURCE_H_
