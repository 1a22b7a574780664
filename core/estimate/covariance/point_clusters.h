// SPDX-License-Identifier: Apache-2.0
//
// Splits a scan into clusters of neighbouring points, whose errors are taken to be independent
// between clusters. Pure functions; the same scan gives the same clusters in the same order.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_POINT_CLUSTERS_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_POINT_CLUSTERS_H_

#include "core/cloud/point_cloud.h"
#include "core/engine/evaluation_pass.h"

namespace voxloc {

// The finite points of the scan, halved along the longest edge of their box again and again, into
// at most kMaxPointGroups parts of equal size, none of fewer than four points where the scan has
// as many. Without a finite point there is no cluster.
[[nodiscard]] PointGroups ClusterPoints(const PointCloud& scan);

// As many groups of consecutive finite points. Much faster; for callers that need only the sums
// over all points, which engines add up group by group in parallel.
[[nodiscard]] PointGroups SlicePoints(const PointCloud& scan);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_POINT_CLUSTERS_H_
