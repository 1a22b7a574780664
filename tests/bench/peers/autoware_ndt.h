// SPDX-License-Identifier: Apache-2.0
//
// Autoware's NDT and conversions from and to its types, which are float32. Only sources that are
// built with Autoware's include this.

#ifndef VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_NDT_H_
#define VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_NDT_H_

#include <autoware/ndt_scan_matcher/ndt_omp/multigrid_ndt_omp.h>
#include <pcl/point_types.h>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::bench {

using AutowareCloud = pcl::PointCloud<pcl::PointXYZ>;
using AutowareNdt = pclomp::MultiGridNormalDistributionsTransform<pcl::PointXYZ, pcl::PointXYZ>;

// The finite points.
[[nodiscard]] AutowareCloud::Ptr ToAutoware(const PointCloud& cloud);
[[nodiscard]] Eigen::Matrix4f ToAutoware(const Pose& pose);
[[nodiscard]] Pose FromAutoware(const Eigen::Matrix4f& pose);

// Of config/ndt_scan_matcher.param.yaml: cells of 2 m, steps of 0.1 m at most, epsilon 0.01, 30
// iterations; regularization is off.
[[nodiscard]] pclomp::NdtParams AutowareParams(int threads);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_PEERS_AUTOWARE_NDT_H_
