// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/calibrated_covariance.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "core/geometry/euler.h"

namespace voxloc {
namespace {

// Information below this, in scaled axes, counts as this much: sigmas end at 100 m.
constexpr double kLeastInformation = 1e-4;  // 1/m^2

// Root mean square distance of the points from the base.
double RotationScale(const PointCloud& scan_base) {
  double sum = 0.0;
  size_t count = 0;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (!scan_base.IsFinite(i)) continue;
    sum += scan_base.Point(i).squaredNorm();
    ++count;
  }
  return count == 0 ? 1.0 : std::max(0.1, std::sqrt(sum / static_cast<double>(count)));
}

// The negative Hessian of the chart about fixed map axes.
Matrix6 FixedAxesInformation(const AlignResult& result) {
  if (!result.hessian.allFinite()) return Matrix6::Zero();
  const ChartVector chart = ChartFromPose(result.map_T_base);
  const Matrix6 inverse = FixedAxesFromChartJacobian(chart[3], chart[4]).inverse();
  const Matrix6 information = -inverse.transpose() * result.hessian * inverse;
  if (!information.allFinite()) return Matrix6::Zero();
  return 0.5 * (information + information.transpose());
}

CalibratedCovariance Calibrate(const AlignedScan& scan) {
  CalibratedCovariance calibrated;
  calibrated.rotation_scale_m = RotationScale(*scan.job->scan);
  calibrated.information = FixedAxesInformation(*scan.result);
  ChartVector scale = ChartVector::Ones();
  scale.tail<3>().setConstant(1.0 / calibrated.rotation_scale_m);
  const Matrix6 scaled = scale.asDiagonal() * calibrated.information * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(scaled);
  const ChartVector variances = eigen.eigenvalues().cwiseMax(kLeastInformation).cwiseInverse();
  const Matrix6 vectors = scale.asDiagonal() * eigen.eigenvectors();
  const Matrix6 covariance = vectors * variances.asDiagonal() * vectors.transpose();
  calibrated.covariance = 0.5 * (covariance + covariance.transpose());
  return calibrated;
}

}  // namespace

std::vector<CalibratedCovariance> CalibrateCovariances(Engine& /*engine*/,
                                                       absl::Span<const AlignedScan> scans) {
  std::vector<CalibratedCovariance> calibrated;
  calibrated.reserve(scans.size());
  for (const AlignedScan& scan : scans) calibrated.push_back(Calibrate(scan));
  return calibrated;
}

}  // namespace voxloc
