// SPDX-License-Identifier: Apache-2.0
//
// Brute-force reference NDT in double: every point against every cell, by the formulas of Magnusson
// 2009 (equations 6.8 to 6.13), with derivatives of the rotation as products of matrices. Slow;
// shares no code with core/ndt.

#ifndef VOXLOC_TESTS_SUPPORT_REFERENCE_NDT_H_
#define VOXLOC_TESTS_SUPPORT_REFERENCE_NDT_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/engine/profile.h"
#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "core/map/cells.h"

namespace voxloc::reference {

// R = Rx(roll) Ry(pitch) Rz(yaw) and its derivatives with respect to the three angles.
struct RotationDerivatives {
  Eigen::Matrix3d rotation;
  std::array<Eigen::Matrix3d, 3> first;
  std::array<std::array<Eigen::Matrix3d, 3>, 3> second;
};
RotationDerivatives DifferentiateRotation(const Eigen::Vector3d& angles);

struct Constants {
  double d1 = 0.0;
  double d2 = 0.0;
};
Constants ScoreConstants(double outlier_ratio, double cell_size_m);

struct Evaluation {
  double score = 0.0;
  ChartVector gradient = ChartVector::Zero();
  Matrix6 hessian = Matrix6::Zero();
  // Sums of the magnitudes of what the pairs contribute: what rounding errors are measured against.
  ChartVector gradient_magnitude = ChartVector::Zero();
  Matrix6 hessian_magnitude = Matrix6::Zero();
  // The same of the products whose sum is the gradient of a pair. For a thin cell that is oblique
  // to the axes they nearly cancel, and float32 rounds each of them, not their sum.
  ChartVector gradient_terms = ChartVector::Zero();
  std::vector<double> best;  // best pair of each point, 0 where unmatched or not finite
  size_t points = 0;         // finite ones
  size_t matched_points = 0;
  size_t pairs = 0;
  // Pairs so near to the search radius that float32 may decide otherwise.
  size_t undecided_pairs = 0;
  double TransformProbability() const { return score / static_cast<double>(points); }
  double NearestVoxelLikelihood() const;
};

// Under the stage's search, outlier ratio, curvature and options; `cells` are all there are, or all
// within reach of the scan.
//
// `shell_share` over 0: the Hessian also has the effect of pairs that enter and leave the search
// radius r when a point moves, estimated from the pairs in the shell [(1 - shell_share) r, r].
Evaluation Evaluate(const std::vector<MapCell>& cells, const PointCloud& scan,
                    const ChartVector& chart, const Stage& stage, double shell_share = 0.0);

Eigen::Matrix3d ToEigen(const ndt::Symmetric3<double>& matrix);

}  // namespace voxloc::reference

#endif  // VOXLOC_TESTS_SUPPORT_REFERENCE_NDT_H_
