// SPDX-License-Identifier: Apache-2.0
//
// OdometryGuess: where the vehicle may be, by a pose that somebody gave (a person, a search of the
// whole map) and the odometry since then, until a result is accepted. From then on the server
// carries the last accepted result along by odom_T_base itself. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_ODOMETRY_GUESS_H_
#define VOXLOC_CLIENTS_ROS_CORE_ODOMETRY_GUESS_H_

#include <optional>

#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc::ros {

class OdometryGuess {
 public:
  struct Guess {
    Pose map_T_base;
    Matrix6 covariance = Matrix6::Zero();
  };

  // `odom_T_base` at the time of the pose; nullopt: not known, the pose is then taken as it is.
  void Set(const Guess& guess, const std::optional<Pose>& odom_T_base);
  void Clear() { guess_.reset(); }

  // For a scan with this odometry. nullopt: none was given, or it has served.
  [[nodiscard]] std::optional<Guess> At(const std::optional<Pose>& odom_T_base) const;

 private:
  std::optional<Guess> guess_;
  std::optional<Pose> odom_T_base_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_ODOMETRY_GUESS_H_
