// SPDX-License-Identifier: Apache-2.0
//
// A scan cut into clusters of neighbouring points: what the errors of one have in common, those of
// another do not share. Pure functions; the same scan gives the same clusters in the same order.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_POINT_CLUSTERS_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_POINT_CLUSTERS_H_

#include "core/cloud/point_cloud.h"
#include "core/engine/evaluation_pass.h"

namespace voxloc {

// The finite points of the scan, halved along the longest edge of their box again and again, into
// at most kMaxPointGroups parts of equal size, none of fewer than four points where the scan has
// as many. Without a finite point there is no cluster.
[[nodiscard]] PointGroups ClusterPoints(const PointCloud& scan);

// As many groups of finite points that follow one another, for a small part of the time: where only
// the sums over all of them count, which engines add up group by group side by side.
[[nodiscard]] PointGroups SlicePoints(const PointCloud& scan);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_POINT_CLUSTERS_H_
