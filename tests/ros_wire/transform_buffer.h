// SPDX-License-Identifier: Apache-2.0
//
// The transforms that a node has heard on /tf and /tf_static, as tf2_ros::Buffer keeps them: those
// of /tf for 10 s before the newest, interpolated between two. Thread-safe.

#ifndef VOXLOC_TESTS_ROS_WIRE_TRANSFORM_BUFFER_H_
#define VOXLOC_TESTS_ROS_WIRE_TRANSFORM_BUFFER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "clients/ros/core/ports.h"
#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {

class TransformBuffer : public ros::TransformLookup {
 public:
  void Put(const StampedTransform& transform, bool is_static);

  [[nodiscard]] absl::StatusOr<Pose> Lookup(const std::string& target_frame,
                                            const std::string& source_frame,
                                            std::optional<int64_t> stamp_ns) const override;

 private:
  // A frame's place in its parent, by stamp; a static one has one, which holds for ever.
  struct Frame {
    std::string parent;
    bool is_static = false;
    std::map<int64_t, Pose> parent_T_frame;
  };

  [[nodiscard]] absl::StatusOr<Pose> InParent(const std::string& name, const Frame& frame,
                                              std::optional<int64_t> stamp_ns) const;

  mutable absl::Mutex mutex_;
  std::map<std::string, Frame> frames_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_TRANSFORM_BUFFER_H_
