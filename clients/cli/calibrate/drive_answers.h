// SPDX-License-Identifier: Apache-2.0
//
// What a drive says without a truth: the answers to its scans, beside its odometry, and the answers
// to the halves of each scan, which share what is systematic, so that their difference has the
// covariance C1 + C2. Covariances are of the scan part alone. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_ANSWERS_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// A pose with its covariance about fixed map axes, order x y z rx ry rz.
struct UncertainPose {
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();
};

struct DriveAnswer {
  int64_t stamp_ns = 0;
  Pose odometry_T_base;
  UncertainPose answer;
};

// Of one scan, cut in two.
struct HalvesAnswer {
  UncertainPose first;
  UncertainPose second;
};

// An estimate, and what 90 of 100 such drives would give.
struct Estimated {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

// Intervals of estimates from samples that depend on their neighbours: the block bootstrap (Kuensch
// 1989). The same samples give the same interval.
//
// The intervals of what `estimate` says of samples 0 to count - 1, which it is given the indices
// of: in 200 repetitions whole runs of neighbours, of a twentieth of the samples, are drawn with
// repetition. `count` is over 0, and the estimate always has the same number of values.
[[nodiscard]] std::vector<Estimated> WithIntervals(
    size_t count,
    const std::function<std::vector<double>(const std::vector<size_t>& indices)>& estimate);

// The scan's clusters of neighbouring points (core/estimate/covariance/point_clusters.h), every
// second one in the first half. Both are empty for a scan of fewer than two clusters.
[[nodiscard]] std::pair<PointCloud, PointCloud> CutInHalves(const PointCloud& scan);

// By how much the scan part is to be multiplied: the median over the scans of the difference's
// squared Mahalanobis distance under C1 + C2, over the median of chi squared with six degrees of
// freedom. At least one scan.
[[nodiscard]] Estimated ScanPartFactor(const std::vector<HalvesAnswer>& scans);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_DRIVE_ANSWERS_H_
