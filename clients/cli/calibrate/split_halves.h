// SPDX-License-Identifier: Apache-2.0
//
// Whether the scan part of the covariance is true, without a truth: the answers to two halves of a
// scan share what is systematic, and their difference has the covariance C1 + C2.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_SPLIT_HALVES_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_SPLIT_HALVES_H_

#include <utility>
#include <vector>

#include "clients/cli/calibrate/bootstrap.h"
#include "clients/cli/calibrate/drive_answer.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

// The scan's clusters of neighbouring points (core/estimate/covariance/point_clusters.h), every
// second one in the first half. Both are empty for a scan of fewer than two clusters.
[[nodiscard]] std::pair<PointCloud, PointCloud> CutInHalves(const PointCloud& scan);

// By how much the scan part is to be multiplied: the median over the scans of the difference's
// squared Mahalanobis distance under C1 + C2, over the median of chi squared with six degrees of
// freedom. At least one scan.
[[nodiscard]] Estimated ScanPartFactor(const std::vector<HalvesAnswer>& scans);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_SPLIT_HALVES_H_
