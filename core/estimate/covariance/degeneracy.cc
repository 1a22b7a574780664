// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/degeneracy.h"

#include <algorithm>
#include <limits>

#include "core/geometry/symmetric_eigen.h"

namespace voxloc {
namespace {

// See degeneracy.h.
constexpr double kLargePart = 0.1;

}  // namespace

bool Degeneracy::degenerate() const {
  return std::find(axes.begin(), axes.end(), AxisObservation::kUnobserved) != axes.end();
}

Degeneracy AnalyzeDegeneracy(const Matrix6& information, double rotation_scale_m,
                             const DegeneracyLimits& limits) {
  Degeneracy degeneracy;
  degeneracy.rotation_scale_m = rotation_scale_m;
  degeneracy.condition = std::numeric_limits<double>::infinity();
  degeneracy.axes.fill(AxisObservation::kUnobserved);
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(1.0 / rotation_scale_m);
  const Matrix6 scaled = scale.asDiagonal() * information * scale.asDiagonal();
  if (!scaled.allFinite()) return degeneracy;

  const SymmetricEigen<6> eigen = DecomposeSymmetric(scaled);
  degeneracy.eigenvalues = eigen.values;
  degeneracy.eigenvectors = eigen.vectors;
  const double smallest = degeneracy.eigenvalues[0];
  const double largest = degeneracy.eigenvalues[5];
  if (!(largest > 0.0)) return degeneracy;
  if (smallest > 0.0) degeneracy.condition = largest / smallest;

  degeneracy.unobserved_directions = 0;
  while (degeneracy.unobserved_directions < 6 &&
         degeneracy.eigenvalues[degeneracy.unobserved_directions] <=
             limits.unobserved_ratio * largest) {
    ++degeneracy.unobserved_directions;
  }

  // The part of an axis that lies in the directions with eigenvalues up to a share of the largest.
  const auto part_below = [&](int axis, double ratio) {
    double part = 0.0;
    for (int k = 0; k < 6; ++k) {
      if (degeneracy.eigenvalues[k] > ratio * largest) break;
      part += degeneracy.eigenvectors(axis, k) * degeneracy.eigenvectors(axis, k);
    }
    return part;
  };
  for (int axis = 0; axis < 6; ++axis) {
    AxisObservation& verdict = degeneracy.axes[static_cast<size_t>(axis)];
    verdict = part_below(axis, limits.unobserved_ratio) >= kLargePart ? AxisObservation::kUnobserved
              : part_below(axis, limits.weak_ratio) >= kLargePart     ? AxisObservation::kWeak
                                                                      : AxisObservation::kObserved;
  }
  return degeneracy;
}

}  // namespace voxloc
