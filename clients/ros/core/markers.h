// SPDX-License-Identifier: Apache-2.0
//
// The arrows that Autoware's node draws: the steps of an alignment, and the particles of a search.
// Namespaces, ids, sizes, colours and lifetimes are its own. Pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_MARKERS_H_
#define VOXLOC_CLIENTS_ROS_CORE_MARKERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "clients/ros/core/messages.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::ros {

// Blue at 0, red at 1, values outside clamped: the colours of Autoware's markers and score cloud.
[[nodiscard]] Color ColorOfShare(double share);

// ndt_marker: an arrow per pose of the trace, the guess first, and as many at the map's origin as
// it takes to make max_iterations + 2, which cover those of an earlier scan.
[[nodiscard]] std::vector<ArrowMarker> StepMarkers(const v1::AlignmentTrace& trace,
                                                   const Pose& map_T_base_guess,
                                                   const Header& header, int64_t max_iterations);

// monte_carlo_initial_pose_marker: six arrows a particle, which live for 10 s.
[[nodiscard]] std::vector<ArrowMarker> ParticleMarkers(const v1::SearchParticle& particle,
                                                       const Header& header);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_MARKERS_H_
