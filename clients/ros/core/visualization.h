// SPDX-License-Identifier: Apache-2.0
//
// What is drawn: the steps of an alignment and the particles of a search as arrows, whose
// namespaces, ids, sizes, colours and lifetimes are those of Autoware's node, and the server's
// clouds as PointCloud2. Pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_VISUALIZATION_H_
#define VOXLOC_CLIENTS_ROS_CORE_VISUALIZATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/ros/core/messages.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::ros {

// Blue at 0, red at 1, values outside clamped: the colours of Autoware's markers and score cloud.
[[nodiscard]] Color ColorOfRatio(double share);

// ndt_marker: an arrow per pose of the trace, the guess first, padded with arrows at the map's
// origin to max_iterations + 2, which overwrite the markers of an earlier scan.
[[nodiscard]] std::vector<ArrowMarker> StepMarkers(const v1::AlignmentTrace& trace,
                                                   const Pose& map_T_base_guess,
                                                   const Header& header, int64_t max_iterations);

// monte_carlo_initial_pose_marker: six arrows a particle, which live for 10 s.
[[nodiscard]] std::vector<ArrowMarker> ParticleMarkers(const v1::SearchParticle& particle,
                                                       const Header& header);

// x, y, z as float32, 12 bytes a point, with the cloud's origin added.
[[nodiscard]] PointCloud2 XyzCloud(const Header& header, const PointCloud& cloud);

// The same from a message. InvalidArgument: see client::DecodePoints.
[[nodiscard]] absl::StatusOr<PointCloud2> XyzCloud(const Header& header, const v1::Cloud& cloud);

// The matched points with the colours of their scores: x, y, z, rgb (as pcl packs it into a
// float32: 0x00RRGGBB), 16 bytes a point. InvalidArgument: as many colours and scores as points are
// needed.
[[nodiscard]] absl::StatusOr<PointCloud2> ScoreCloud(const Header& header, const v1::Cloud& cloud,
                                                     const v1::PointScores& scores);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_VISUALIZATION_H_
