// SPDX-License-Identifier: Apache-2.0
//
// OdometryAnchor: the last pose of a vehicle that its scan observed in every direction, carried on
// by odometry. It says where the vehicle is while scans do not tell, until the drift of odometry
// has grown. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_ODOMETRY_ANCHOR_H_
#define VOXLOC_CORE_TRACKING_ODOMETRY_ANCHOR_H_

#include <optional>

#include "core/geometry/pose.h"
#include "core/tracking/carried_pose.h"
#include "core/tracking/prior_pose.h"

namespace voxloc {

class OdometryAnchor {
 public:
  // A scan that observes every direction was accepted here.
  void Set(const Pose& map_T_base, const Pose& odometry_T_base);
  void Reset() { anchor_.reset(); }

  // Odometry has come to this pose; call it for every scan, in the order of time. nullopt: it is
  // not known, and what lies behind it is not either: the anchor is lost.
  void Follow(const std::optional<Pose>& odometry_T_base);

  // Where the vehicle is by odometry. Its standard deviation along each axis is `drift` times the
  // way since the anchor, and about each axis `drift` times the angle turned. nullopt: there is no
  // anchor. `drift` >= 0.
  [[nodiscard]] std::optional<PriorPose> Prior(double drift) const;

 private:
  std::optional<CarriedPose> anchor_;
  Pose last_odometry_T_base_;
  double way_m_ = 0.0;
  double turned_rad_ = 0.0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_ODOMETRY_ANCHOR_H_
