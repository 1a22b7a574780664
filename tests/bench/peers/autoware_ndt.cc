// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/peers/autoware_ndt.h"

namespace voxloc::bench {

AutowareCloud::Ptr ToAutoware(const PointCloud& cloud) {
  AutowareCloud::Ptr points(new AutowareCloud);
  points->reserve(cloud.size());
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3f point = cloud.Point(i).cast<float>();
    points->push_back({point.x(), point.y(), point.z()});
  }
  return points;
}

Eigen::Matrix4f ToAutoware(const Pose& pose) { return pose.Matrix().cast<float>(); }

Pose FromAutoware(const Eigen::Matrix4f& pose) {
  const Eigen::Matrix4d matrix = pose.cast<double>();
  Pose result;
  result.translation = matrix.topRightCorner<3, 1>();
  result.rotation = Eigen::Quaterniond(Eigen::Matrix3d(matrix.topLeftCorner<3, 3>())).normalized();
  return result;
}

pclomp::NdtParams AutowareParams(int threads) {
  pclomp::NdtParams params;
  params.trans_epsilon = 0.01;
  params.step_size = 0.1;
  params.resolution = 2.0F;
  params.max_iterations = 30;
  params.search_method = pclomp::KDTREE;
  params.num_threads = threads;
  return params;
}

}  // namespace voxloc::bench
